package org.ep4j.engine.memory;

import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;

/** An allocation of a device. Safe for use from several threads. */
public final class OwnedMemory implements DeviceAllocation {
    private final DeviceMemory memory;
    private final Runnable free;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Of memory that is allocated already.
     *
     * @param free gives it back; called once
     */
    public OwnedMemory(DeviceMemory memory, Runnable free) {
        this.memory = memory;
        this.free = free;
    }

    @Override
    public DeviceMemory memory() {
        if (closed.get()) {
            throw new EpStateException("this allocation of " + memory.byteSize() + " bytes is closed; allocate again");
        }
        return memory;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            free.run();
        }
    }
}
