package org.ep4j.engine.memory;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.jspecify.annotations.Nullable;

/**
 * Memory of this library, which knows whether its owner has closed it. It is the {@link DeviceMemory#owner} of every range of it that
 * a program gets, so a range that is used too late is recognised by itself and not by its address, which may be in use again.
 *
 * <p>What was closed goes away when nothing holds it any more: a view that a program got before stays readable, and an operation that
 * runs keeps what it reads and writes. Safe for use from several threads.
 */
public final class TrackedMemory {
    private final String what;
    private final DeviceMemory memory;
    private @Nullable Runnable free;
    private int holds;
    private boolean closed;

    /**
     * Tracks memory that is there already.
     *
     * @param what it is, for messages: {@code buffer-0}
     * @param range all of it
     * @param free gives it back; called once, after {@link #close} and the end of all holds
     */
    public TrackedMemory(String what, DeviceMemory range, Runnable free) {
        this.what = what;
        this.memory = new DeviceMemory(range.address(), range.byteSize(), range.device(), Optional.of(this));
        this.free = free;
    }

    /** What was closed, when {@code memory} is of this library and its owner has closed it. */
    public static Optional<String> closedOwner(DeviceMemory memory) {
        return of(memory).filter(TrackedMemory::isClosed).map(tracked -> tracked.what);
    }

    /** As {@link #during(Collection, Supplier)}. */
    public static void during(DeviceMemory memory, Runnable work) {
        during(List.of(memory), () -> {
            work.run();
            return memory;
        });
    }

    /**
     * Keeps memory in place while something works on it.
     *
     * @throws EpStateException when its owner has closed it; then nothing was run
     */
    public static <T> T during(Collection<DeviceMemory> all, Supplier<T> work) {
        List<TrackedMemory> held = new ArrayList<>(all.size());
        try {
            for (DeviceMemory memory : all) {
                TrackedMemory tracked = of(memory).orElse(null);
                if (tracked != null) {
                    tracked.hold();
                    held.add(tracked);
                }
            }
            return work.get();
        } finally {
            held.forEach(TrackedMemory::endHold);
            // Of memory that is not tracked, such as a direct buffer's.
            Reference.reachabilityFence(all);
        }
    }

    static Optional<TrackedMemory> of(DeviceMemory memory) {
        return memory.owner().filter(TrackedMemory.class::isInstance).map(TrackedMemory.class::cast);
    }

    /** All of it. */
    public DeviceMemory memory() {
        return memory;
    }

    String what() {
        return what;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    ByteBuffer view(DeviceMemory part, Cleaner cleaner) {
        hold();
        try {
            ByteBuffer view = HostMemory.buffer(part.address(), part.byteSize());
            // Slices and duplicates keep the buffer that they were made from reachable, so watching this one is enough.
            cleaner.register(view, this::endHold);
            return view;
        } catch (RuntimeException | Error e) {
            endHold();
            throw e;
        }
    }

    private synchronized void hold() {
        if (closed) {
            throw new EpStateException(memory + " are of " + what
                    + ", which is closed; copy what is needed, or take a view of it, before closing it");
        }
        holds++;
    }

    private void endHold() {
        release(false);
    }

    /** Frees the memory now, or when nothing holds it any more. A second call does nothing. */
    public void close() {
        release(true);
    }

    private void release(boolean close) {
        Runnable run = null;
        synchronized (this) {
            if (close) {
                closed = true;
            } else {
                holds--;
            }
            if (closed && holds == 0) {
                run = free;
                free = null;
            }
        }
        if (run != null) {
            run.run();
        }
    }
}
