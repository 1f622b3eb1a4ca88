package org.ep4j.engine.gpu;

import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.transport.memory.HostMemory;

/** Abort words in pinned host memory, which end the waits of kernels: one for all waits, then one for each rank. */
final class AbortWords {
    private final PinnedMemory pinned;
    private final HostMemory words;
    private boolean closed;

    AbortWords(EngineGpu device, int ranks) {
        pinned = device.allocatePinned(8L * (1 + ranks));
        words = pinned.memory();
    }

    long deviceAddress() {
        return pinned.deviceAddress();
    }

    /** Ends all waits, or allows later operations to wait again. */
    void all(boolean ends) {
        rank(-1, ends);
    }

    /** Ends waits for a rank that has left or was given up, or allows later operations to wait for it again. */
    synchronized void rank(int rank, boolean ends) {
        long word = 8L * (1 + rank);
        long value = ends ? 1 : 0;
        if (!closed && words.getLong(word) != value) {
            words.putLongRelease(word, value);
        }
    }

    synchronized void close() {
        closed = true;
        pinned.close();
    }
}
