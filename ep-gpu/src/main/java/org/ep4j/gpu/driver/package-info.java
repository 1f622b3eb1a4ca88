/**
 * GPUs by the calls that CUDA and HIP have in common, for the engine and for backends that reach GPU memory: contexts, streams, events, graphs,
 * kernels and their dialects, memory that processes and NICs share, and providers of backends that map memory of GPUs. Users meet them
 * through {@code org.ep4j.gpu}.
 */
@NullMarked
package org.ep4j.gpu.driver;

import org.jspecify.annotations.NullMarked;
