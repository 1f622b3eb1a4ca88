package org.ep4j;

/** An allocation of device memory, freed by {@link #close}. */
public interface DeviceAllocation extends AutoCloseable {
    /**
     * The allocated memory.
     *
     * @throws EpStateException after {@link #close}
     */
    DeviceMemory memory();

    /** Frees the memory. A second call does nothing. */
    @Override
    void close();
}
