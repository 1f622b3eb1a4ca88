/** NVIDIA GPUs as devices: the CUDA driver by JNA, and kernels compiled at run time by NVRTC and linked by nvJitLink. */
@NullMarked
package org.ep4j.gpu.cuda;

import org.jspecify.annotations.NullMarked;
