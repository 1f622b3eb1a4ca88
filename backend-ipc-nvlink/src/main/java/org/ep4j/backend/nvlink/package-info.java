/**
 * The transport {@code ipc-nvlink}: plain loads and stores into the memory of other NVIDIA GPUs, over NVLink of a host or of an
 * NVLink domain, or over PCIe below one switch. Ranks may be processes or threads, and may share a GPU.
 * For who works on this backend; code that it has in common with rocm belongs to ep-gpu.
 */
@NullMarked
package org.ep4j.backend.nvlink;

import org.jspecify.annotations.NullMarked;
