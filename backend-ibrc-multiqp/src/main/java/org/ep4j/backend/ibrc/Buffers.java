package org.ep4j.backend.ibrc;

import org.ep4j.EpResourceException;
import org.ep4j.engine.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/** Numbers of open buffers, by which immediates name them. Safe for use from several threads. */
final class Buffers implements LinkMemory.Counts {
    private final @Nullable HostMemory[] open = new HostMemory[Immediate.BUFFERS];

    synchronized int add(HostMemory counters) {
        for (int number = 0; number < open.length; number++) {
            if (open[number] == null) {
                open[number] = counters;
                return number;
            }
        }
        throw new EpResourceException(Immediate.BUFFERS + " buffers are open on this rank, and " + IbrcProvider.ID
                + " has no more; close some");
    }

    synchronized void remove(int number) {
        open[number] = null;
    }

    /**
     * Adds to a word of the counters of a buffer, which stay where they are meanwhile: one that is closed counts nothing any
     * more.
     */
    @Override
    public synchronized void add(int number, long word, long delta) {
        HostMemory counters = open[number];
        if (counters != null) {
            counters.putLongRelease(word, counters.getLong(word) + delta);
        }
    }
}
