package org.ep4j.engine.memory;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import org.ep4j.DeviceMemory;
import org.jspecify.annotations.Nullable;

/**
 * Memory whose owner has closed it only goes away when no buffer over it can be reached any more, so that a program which
 * reads a view too late sees old bytes and does not crash the process.
 */
public final class TrackedMemory {
    private final DeviceMemory memory;
    private final Cleaner cleaner;
    private @Nullable Runnable free;
    private int views;
    private boolean closed;

    TrackedMemory(DeviceMemory memory, Cleaner cleaner, Runnable free) {
        this.memory = memory;
        this.cleaner = cleaner;
        this.free = free;
    }

    DeviceMemory memory() {
        return memory;
    }

    ByteBuffer view(DeviceMemory part) {
        synchronized (this) {
            views++;
        }
        ByteBuffer view = HostMemory.buffer(part.address(), part.byteSize());
        // Slices and duplicates keep the buffer that they were made from reachable, so watching this one is enough.
        cleaner.register(view, this::viewGone);
        return view;
    }

    private void viewGone() {
        release(false);
    }

    /** Frees the memory now, or when the last view is gone. A second call does nothing. */
    public void close() {
        release(true);
    }

    private void release(boolean close) {
        Runnable run = null;
        synchronized (this) {
            if (close) {
                closed = true;
            } else {
                views--;
            }
            if (closed && views == 0) {
                run = free;
                free = null;
            }
        }
        if (run != null) {
            run.run();
        }
    }
}
