package org.ep4j.spi;

import java.time.Duration;
import java.util.Optional;

/** An open backend on one rank. Safe for use from several threads. */
public interface EpBackend extends AutoCloseable {
    /** {@link EpBackendProvider#id()}. */
    String id();

    /**
     * True when symmetric memory must be allocated by this backend (shared memory files, an NVSHMEM heap); false when it
     * registers memory that somebody else allocated. A plan may use one allocating backend a rank.
     */
    boolean allocates();

    /**
     * True when this backend allocates the window, the memory by which GPUs exchange with the peers that they post to, whether
     * it allocates symmetric memory or not: buffers of an {@link #expose} for it, which gets no memory, are {@link DevicePosted}.
     */
    default boolean allocatesWindow() {
        return false;
    }

    /**
     * Makes a symmetric buffer reachable. Collective over the ranks of the backend, with the same {@code name} and
     * {@code bytes}; when it fails on one rank it fails on all.
     *
     * @param name unique among the buffers of the group
     * @param bytes size on every rank, a multiple of 4096
     * @param memory what to register; empty exactly when {@link #allocates()} or {@link #allocatesWindow()}. Memory of a GPU only for a backend that
     *     {@linkplain RegistersDeviceMemory registers} it
     * @param deadline longest time the call may take
     * @throws org.ep4j.EpResourceException when the machine has too little memory for it
     */
    SymmetricBuffer expose(String name, long bytes, Optional<ExposedMemory> memory, Duration deadline);

    /** Frees everything, local: never waits for other ranks. A second call does nothing. */
    @Override
    void close();
}
