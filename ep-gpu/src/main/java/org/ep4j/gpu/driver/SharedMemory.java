package org.ep4j.gpu.driver;

import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;

/** Memory of a GPU that several ranks reach: the owner's, or a peer's as it is mapped here. */
public final class SharedMemory implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private final DeviceMemory memory;
    private final MemoryHandle handle;
    private final Runnable release;
    private final AtomicBoolean open = new AtomicBoolean(true);

    SharedMemory(DeviceMemory memory, MemoryHandle handle, Runnable release) {
        this.memory = memory;
        this.handle = handle;
        this.release = release;
    }

    /**
     * Where the rank's GPU reaches it; also a peer's memory counts as memory of that device.
     *
     * @throws EpStateException after {@link #close}
     */
    public DeviceMemory memory() {
        if (!open.get()) {
            throw new EpStateException(
                    "this shared memory of " + memory.byteSize() + " bytes is closed; do not use it after close()");
        }
        return memory;
    }

    /** What others need to map it. */
    public MemoryHandle handle() {
        return handle;
    }

    /**
     * Unmaps it, and frees it where it is the owner's. Never waits for other processes and never throws: what the driver
     * refuses is logged, since a GPU that failed refuses everything. A second call does nothing.
     */
    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            try {
                release.run();
            } catch (RuntimeException e) {
                LOG.log(System.Logger.Level.WARNING, () -> memory + " could not be released: " + e.getMessage());
            }
        }
    }
}
