/**
 * The transport {@code rocm}: plain loads and stores into the memory of other AMD GPUs of a host, over xGMI, or over PCIe where
 * it keeps the order of writes. Ranks may be processes or threads, and may share a GPU.
 * For who works on this backend; code that it has in common with ipc-nvlink belongs to ep-gpu.
 */
@NullMarked
package org.ep4j.backend.rocm;

import org.jspecify.annotations.NullMarked;
