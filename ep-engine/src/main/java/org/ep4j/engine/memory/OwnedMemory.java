package org.ep4j.engine.memory;

import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;

/** An allocation of a device. Safe for use from several threads. */
public final class OwnedMemory implements DeviceAllocation {
    private final TrackedMemory tracked;

    /**
     * Owns memory that is allocated already.
     *
     * @param free gives it back; called once
     */
    public OwnedMemory(DeviceMemory memory, Runnable free) {
        this(new TrackedMemory(what(memory.byteSize()), memory, free));
    }

    /** Owns memory that is tracked already. */
    OwnedMemory(TrackedMemory tracked) {
        this.tracked = tracked;
    }

    /** An allocation as messages name it. */
    static String what(long bytes) {
        return "an allocation of " + bytes + " bytes";
    }

    @Override
    public DeviceMemory memory() {
        if (tracked.isClosed()) {
            throw new EpStateException("this is " + tracked.what() + " that is closed; allocate again");
        }
        return tracked.memory();
    }

    @Override
    public void close() {
        tracked.close();
    }
}
