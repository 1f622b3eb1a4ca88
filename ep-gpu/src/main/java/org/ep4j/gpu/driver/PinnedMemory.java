package org.ep4j.gpu.driver;

import org.ep4j.transport.memory.HostMemory;

/** Memory of the host that kernels reach. */
public interface PinnedMemory extends AutoCloseable {
    /** As the host sees it. */
    HostMemory memory();

    /** Its address on the host. */
    long hostAddress();

    /** Where kernels see it. */
    long deviceAddress();

    /** Frees it; no kernel may use it any more. */
    @Override
    void close();
}
