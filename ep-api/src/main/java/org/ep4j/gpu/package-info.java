/**
 * For programs whose rank runs on a GPU and that queue work of their own beside dispatch and combine: streams, events, graphs and kernels
 * of the device of an {@link org.ep4j.EpGroup}. Holds what NVIDIA's and AMD's GPUs have in common; only ep4j implements these interfaces.
 * Start at {@link GpuDevice#of}.
 */
@NullMarked
package org.ep4j.gpu;

import org.jspecify.annotations.NullMarked;
