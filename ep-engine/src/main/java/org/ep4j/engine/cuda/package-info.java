/** NVIDIA GPUs as devices: the driver by JNA, kernels compiled at run time by NVRTC. */
@NullMarked
package org.ep4j.engine.cuda;

import org.jspecify.annotations.NullMarked;
