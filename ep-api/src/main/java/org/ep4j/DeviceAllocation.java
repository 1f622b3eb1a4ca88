package org.ep4j;

/** Memory that its holder owns. */
public interface DeviceAllocation extends AutoCloseable {
    /**
     * The memory.
     *
     * @throws EpStateException after {@link #close}
     */
    DeviceMemory memory();

    /** Frees the memory. A second call does nothing. */
    @Override
    void close();
}
