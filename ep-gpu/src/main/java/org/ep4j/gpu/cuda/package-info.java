/**
 * NVIDIA GPUs as devices: the CUDA driver by JNA, and kernels compiled at run time by NVRTC and linked by nvJitLink. For those
 * who work on the device {@code cuda}; whatever HIP does too belongs to {@code driver}.
 */
@NullMarked
package org.ep4j.gpu.cuda;

import org.jspecify.annotations.NullMarked;
