package org.ep4j.gpu.driver;

import com.sun.jna.NativeLibrary;
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

    /**
     * A dma-buf that a driver has given out; closing it leaves what was registered.
     *
     * @param dmaBuf its descriptor, which this process owns, and where the memory begins in it
     */
    record File(ExposedMemory.DmaBuf dmaBuf) implements AutoCloseable {
        @Override
        public void close() {
            NativeLibrary.getInstance("c").getFunction("close").invokeInt(new Object[] {dmaBuf.descriptor()});
        }
    }
}
