package org.ep4j.spi;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * Capability of an {@link EpBackend} that allocates symmetric memory: shared memory files, an NVSHMEM heap.
 * On each rank, at most one backend of a plan allocates {@link Purpose#MAPPED} memory; it {@linkplain RegistersMemory
 * registers} none.
 *
 * <p>The engine never calls {@link RegistersMemory#register} of a backend whose {@link #purposes} are not empty. Joining
 * fails if an open backend allocates {@link Purpose#MAPPED} memory and also has {@link RegistersMemory}: a backend that
 * does one or the other, depending on its settings, returns only that one from {@link EpBackend#as}.
 */
public interface AllocatesMemory {
    /** Uses of the memory. Constants may be added: keep a {@code default} where you switch over them. */
    enum Purpose {
        /** The symmetric memory of a buffer. */
        MAPPED,
        /**
         * The memory through which GPUs exchange with the peers that their kernels post to: its buffers are
         * {@link DevicePosted}.
         */
        DEVICE_POSTED
    }

    /** Purposes for which memory must be allocated by this backend; they do not change while it is open. */
    Set<Purpose> purposes();

    /**
     * Allocates a symmetric buffer and makes it reachable for peers. Collective over the ranks of the backend, with the
     * same {@code name}, {@code bytes} and {@code purpose}; when it fails on one rank it fails on all. The memory is zeroed
     * before the call returns on any rank.
     *
     * @param name unique among the buffers of the group
     * @param bytes size on every rank, a multiple of 4096
     * @param purpose one of {@link #purposes()}
     * @param timeout longest time the call may take
     * @throws org.ep4j.EpResourceException when the machine has too little memory for it
     */
    SymmetricBuffer allocate(String name, long bytes, Purpose purpose, Duration timeout);

    /**
     * Reason why kernels may not publish data in this backend's memory by relaxed stores ({@code ep.gpu.publish=relaxed});
     * empty if they may, which needs uncached memory in which an acknowledged write has arrived. Called before any
     * allocation.
     */
    default Optional<String> relaxedStoresRefusal() {
        return Optional.of("symmetric memory that the backend maps may be cached");
    }
}
