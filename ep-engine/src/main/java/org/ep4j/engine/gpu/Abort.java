package org.ep4j.engine.gpu;

import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.transport.memory.HostMemory;

/** Words of host memory that end the waits of kernels: one for all waits, then one for those for each rank. */
final class Abort {
    private final PinnedMemory pinned;
    private final HostMemory words;
    private boolean closed;

    Abort(EngineGpu device, int ranks) {
        pinned = device.allocatePinned(8L * (1 + ranks));
        words = pinned.memory();
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

    /** Ends waits for a rank that has left or was given up. */
    void waitsFor(int rank) {
        write(1 + rank, 1);
    }

    /** Lets later operations wait again for a rank. */
    void noneFor(int rank) {
        write(1 + rank, 0);
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
