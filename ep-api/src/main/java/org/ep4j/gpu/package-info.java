/**
 * For programs whose rank runs on a GPU and that queue work of their own beside dispatch and combine: streams, events, graphs and kernels
 * of the device of an {@link org.ep4j.EpGroup}. Holds what NVIDIA's and AMD's GPUs have in common; only ep4j implements these interfaces.
 * Start at {@link GpuDevice#of}.
 */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
@NullMarked
package org.ep4j.gpu;

import org.apiguardian.api.API;
import org.jspecify.annotations.NullMarked;
