package org.ep4j.engine.memory;

import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;

/** An allocation of a device. Safe for use from several threads. */
public final class OwnedMemory implements DeviceAllocation {
    private final TrackedMemory tracked;

    /**
     * An allocation over memory that is allocated already.
     *
     * @param free gives it back; called once, when it is closed and no view and no operation uses it
     */
    public OwnedMemory(DeviceMemory range, Runnable free) {
        tracked = new TrackedMemory(range, "an allocation", free);
    }

    @Override
    public DeviceMemory memory() {
        TrackedMemory.requireOpen("the tensor", tracked.memory());
        return tracked.memory();
    }

    @Override
    public void close() {
        tracked.close();
    }
}
