package org.ep4j.spi;

import java.time.Duration;
import java.util.Optional;

/** An open backend on one rank. Safe for use from several threads. */
public interface EpBackend extends AutoCloseable {
    /** Id of this backend, the same as {@link EpBackendProvider#id()} of its provider. */
    String id();

    /**
     * Returns true if symmetric memory must be allocated by this backend (shared memory files, an NVSHMEM heap); false
     * if this backend registers memory that somebody else allocated. A plan may use one allocating backend a rank.
     */
    boolean allocates();

    /**
     * Returns true if this backend allocates the window: the memory through which GPUs exchange with the peers that
     * they post to. It does not depend on {@link #allocates()}. For the window, {@link #expose} gets no memory, and its
     * buffers are {@link DevicePosted}.
     */
    default boolean allocatesWindow() {
        return false;
    }

    /**
     * Makes a symmetric buffer reachable for peers. Collective over the ranks of the backend, with the same
     * {@code name} and {@code bytes}; when it fails on one rank it fails on all.
     *
     * @param name unique among the buffers of the group
     * @param bytes size on every rank, a multiple of 4096
     * @param memory what to register; empty exactly when {@link #allocates()} or {@link #allocatesWindow()}. Memory of a GPU only for a backend that
     *     {@linkplain RegistersDeviceMemory registers} it
     * @param deadline longest time the call may take
     * @throws org.ep4j.EpResourceException when the machine has too little memory for it
     */
    SymmetricBuffer expose(String name, long bytes, Optional<ExposedMemory> memory, Duration deadline);

    /** Frees everything that the backend has on this rank; never waits for other ranks. A second call does nothing. */
    @Override
    void close();
}
