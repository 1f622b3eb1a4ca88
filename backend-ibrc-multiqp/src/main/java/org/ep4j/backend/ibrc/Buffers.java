package org.ep4j.backend.ibrc;

import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.EpResourceException;
import org.ep4j.transport.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/** Numbers of open buffers, by which immediates name them. Safe for use from several threads. */
final class Buffers implements LinkMemory.Counts {
    private final @Nullable Counted[] open = new Counted[Immediate.BUFFERS];
    private int next;

    /**
     * The counters of a buffer.
     *
     * @param words for each source, by its index, and then by counter
     * @param news for each source, which of its counters have advanced since somebody has looked, as bits
     */
    record Counted(HostMemory words, AtomicLongArray news) {
        /** Takes what is new of a source. */
        long takeNews(int source) {
            return news.get(source) == 0 ? 0 : news.getAndSet(source, 0);
        }
    }

    /** The number for a buffer: not one that was given back a moment ago, as long as there are others. */
    synchronized int add(Counted counters) {
        for (int i = 0; i < open.length; i++) {
            int number = (next + i) % open.length;
            if (open[number] == null) {
                open[number] = counters;
                next = number + 1;
                return number;
            }
        }
        throw new EpResourceException(
                "this rank has " + Immediate.BUFFERS + " buffer registrations open, the limit of " + IbrcProvider.ID
                        + "; close buffers (a buffer in host memory takes two registrations, and three after a"
                        + " recovery)");
    }

    synchronized void remove(int number) {
        open[number] = null;
    }

    /**
     * Adds to a word of the counters of a buffer, which stay where they are meanwhile: one that is closed counts nothing any
     * more.
     */
    @Override
    public synchronized void add(int number, int source, int counter, long delta) {
        Counted counters = open[number];
        if (counters != null) {
            long word = (long) source * LinkMemory.COUNTERS + 8L * counter;
            counters.words().putLongRelease(word, counters.words().getLong(word) + delta);
            counters.news().getAndAccumulate(source, 1L << counter, (before, bit) -> before | bit);
        }
    }
}
