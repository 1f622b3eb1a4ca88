package org.ep4j.gpu.driver;

import org.ep4j.DeviceMemory;
import org.ep4j.spi.ExposedMemory;

/** Memory of a GPU as NICs reach it. Safe for use from several threads. */
public interface NicMemory {
    GpuDirect facts();

    /**
     * Memory of this GPU as a file of the kernel.
     *
     * @param memory the start of an allocation of its own whose size was rounded up to {@link #GRANULE}
     * @throws org.ep4j.EpException when the driver gives none, naming the call and its result
     */
    File export(DeviceMemory memory);

    /**
     * What the host has seen to have arrived in this GPU's memory is seen by its kernels and copies after this returns.
     * Allocates nothing.
     */
    void flush();

    /** Pages of a GPU; what is exported consists of whole ones. */
    long GRANULE = 2 << 20;

    /** A dma-buf that is open. */
    interface File extends AutoCloseable {
        /** To be handed to backends. */
        ExposedMemory.DmaBuf dmaBuf();

        /** Who has registered it keeps it. */
        @Override
        void close();
    }
}
