/** Counted writes by NVSHMEM: GPUs post to NICs themselves, or store over NVLink. */
@NullMarked
package org.ep4j.backend.nvshmem;

import org.jspecify.annotations.NullMarked;
