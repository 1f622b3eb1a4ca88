/**
 * The transport {@code nvshmem-ibgda}, for who works on this backend: counted writes by NVSHMEM, where GPUs post to NICs themselves or
 * store over NVLink. Code that other backends could use belongs to ep-transport or ep-gpu.
 */
@NullMarked
package org.ep4j.backend.nvshmem;

import org.jspecify.annotations.NullMarked;
