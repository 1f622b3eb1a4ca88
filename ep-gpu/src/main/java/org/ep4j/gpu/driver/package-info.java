/**
 * GPUs by the calls that CUDA and HIP have in common: contexts, streams, events, graphs, kernels and their dialects, memory
 * that processes and NICs share, and providers of backends that map memory of GPUs. For the engine and for backends that reach
 * GPU memory; users have {@code org.ep4j.gpu}, and calls of one vendor belong to {@code cuda} or {@code hip}.
 */
@NullMarked
package org.ep4j.gpu.driver;

import org.jspecify.annotations.NullMarked;
