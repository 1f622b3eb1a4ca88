package org.ep4j.gpu.driver;

import org.ep4j.transport.memory.HostMemory;

/** Host memory that kernels reach. */
public interface PinnedMemory extends AutoCloseable {
    /** The memory on the host. */
    HostMemory memory();

    /** Address on the host. */
    long hostAddress();

    /** Address for kernels. */
    long deviceAddress();

    /** Frees the memory; no kernel may use it any more. */
    @Override
    void close();
}
