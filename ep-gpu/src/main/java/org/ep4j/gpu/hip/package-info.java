/** AMD GPUs as devices: the HIP runtime by JNA, kernels compiled at run time by HIPRTC. */
@NullMarked
package org.ep4j.gpu.hip;

import org.jspecify.annotations.NullMarked;
