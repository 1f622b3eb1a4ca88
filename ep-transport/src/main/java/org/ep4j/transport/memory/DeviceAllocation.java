package org.ep4j.transport.memory;

import org.ep4j.DeviceMemory;

/** An allocation of a device. Safe for use from several threads. */
public final class DeviceAllocation implements AutoCloseable {
    private final TrackedMemory tracked;

    /**
     * An allocation over memory that is allocated already.
     *
     * @param free gives it back; called once, when it is closed and no view and no operation uses it
     */
    public DeviceAllocation(DeviceMemory range, Runnable free) {
        tracked = new TrackedMemory(range, "an allocation", free);
    }

    /**
     * The allocated memory.
     *
     * @throws org.ep4j.EpStateException after {@link #close}
     */
    public DeviceMemory memory() {
        TrackedMemory.requireOpen("the tensor", tracked.memory());
        return tracked.memory();
    }

    /** Frees the memory. A second call does nothing. */
    @Override
    public void close() {
        tracked.close();
    }
}
