package org.ep4j.engine.gpu;

import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.sync.Mask;

/** Words of host memory that end the waits of kernels: one for all waits, then one for those for each rank. */
final class Abort {
    private final PinnedMemory pinned;
    private final HostMemory words;
    private final int ranks;
    private boolean closed;

    Abort(GpuDevice device, int ranks) {
        pinned = device.allocatePinned(8L * (1 + ranks));
        words = pinned.memory();
        this.ranks = ranks;
    }

    long deviceAddress() {
        return pinned.deviceAddress();
    }

    /** Ends all waits from now on. */
    void all() {
        write(0, 1);
    }

    /** Lets later operations wait again. */
    void none() {
        write(0, 0);
    }

    /** Ends waits for a rank that has left. */
    void waitsFor(int rank) {
        write(1 + rank, 1);
    }

    /** Lets waits for ranks outside of {@code mask} go on, after a recovery that they took part in. */
    void waitsGoOn(Mask mask) {
        for (int r = 0; r < ranks; r++) {
            if (!mask.has(r)) {
                write(1 + r, 0);
            }
        }
    }

    private synchronized void write(int word, long value) {
        if (!closed && words.getLong(8L * word) != value) {
            words.putLongRelease(8L * word, value);
        }
    }

    synchronized void close() {
        closed = true;
        pinned.close();
    }
}
