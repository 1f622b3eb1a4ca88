package org.ep4j.transport.memory;

import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;

/**
 * An allocation, as the owner of its ranges: says whether its holder has closed it, and frees the memory once that is so and no view and no
 * operation uses it any more. A program that reads a view too late sees old bytes and does not crash the process. Safe for use from several
 * threads.
 */
public final class DeviceAllocation implements AutoCloseable {
    private static final int CLOSED = 1 << 31;

    private final DeviceMemory memory;
    private final String what;
    private final Runnable free;
    /** Number of users, with {@link #CLOSED} added when no more may come. */
    private final AtomicInteger users = new AtomicInteger();

    /**
     * Tracks memory that is allocated already.
     *
     * @param range the memory
     * @param free gives the memory back; called once, by the thread that closes or uses it last
     */
    public DeviceAllocation(DeviceMemory range, Runnable free) {
        this(range, "an allocation", free);
    }

    /**
     * Tracks memory that is not an allocation of a program.
     *
     * @param what names it in messages
     */
    public DeviceAllocation(DeviceMemory range, String what, Runnable free) {
        this.what = what;
        this.free = free;
        // Instead of the owner so far, which free gives back.
        memory = DeviceMemory.of(range.address(), range.byteSize(), range.device())
                .keeping(this);
    }

    /**
     * Returns the memory, owned by this.
     *
     * @throws EpStateException after {@link #close}
     */
    public DeviceMemory memory() {
        requireOpen("the tensor", memory);
        return memory;
    }

    /** Keeps the memory until {@link #release}; returns false if it is closed. */
    public boolean retain() {
        int now = users.get();
        while (now >= 0) {
            if (users.compareAndSet(now, now + 1)) {
                return true;
            }
            now = users.get();
        }
        return false;
    }

    /** Ends one {@link #retain}. */
    public void release() {
        if (users.decrementAndGet() == CLOSED) {
            free.run();
        }
    }

    /** Frees the memory now, or when its last user is gone. A second call does nothing. */
    @Override
    public void close() {
        if (users.getAndUpdate(now -> now | CLOSED) == 0) {
            free.run();
        }
    }

    /**
     * Refuses memory that has been closed.
     *
     * @param name of the argument that lies in it
     * @throws EpStateException if it has been closed
     */
    public static void requireOpen(String name, DeviceMemory memory) {
        if (memory.owner().isPresent()
                && memory.owner().get() instanceof DeviceAllocation allocation
                && allocation.users.get() < 0) {
            throw allocation.closed(name);
        }
    }

    /** Returns the refusal of an argument that lies in this memory, which is closed. */
    public EpStateException closed(String name) {
        return new EpStateException(
                name + " is in memory that is closed (" + what + ", " + memory + "); keep it open until the last use");
    }
}
