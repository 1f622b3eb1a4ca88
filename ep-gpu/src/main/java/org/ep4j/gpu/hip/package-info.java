/**
 * AMD GPUs as devices: the HIP runtime by JNA, and kernels compiled at run time by HIPRTC. For those who work on the device
 * {@code hip}; whatever CUDA does too belongs to {@code driver}.
 */
@NullMarked
package org.ep4j.gpu.hip;

import org.jspecify.annotations.NullMarked;
