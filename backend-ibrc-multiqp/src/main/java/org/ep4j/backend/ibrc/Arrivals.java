package org.ep4j.backend.ibrc;

import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.spi.HostPosted;

/**
 * The counters of one source on this rank, shown in the order in which the source advanced them. Safe for use from several
 * threads.
 *
 * <p>The words themselves are in that order, for they advance on one lane. A word may be shown once all lanes have passed the
 * fences that are told of after it was read. When one is, all are: otherwise a later fence could hold back a counter that was
 * advanced before one that has been shown.
 */
final class Arrivals {
    private final HostMemory words;
    private final long start;
    private final Link link;
    private final long[] found = new long[HostPosted.COUNTERS];
    private final AtomicLongArray shown = new AtomicLongArray(HostPosted.COUNTERS);

    /**
     * Over the words of one source.
     *
     * @param words counters of all sources
     * @param start offset of this one's
     * @param link to the source
     */
    Arrivals(HostMemory words, long start, Link link) {
        this.words = words;
        this.start = start;
        this.link = link;
    }

    /**
     * The value of a counter.
     *
     * @throws org.ep4j.EpPeerLostException when the source is lost and there is nothing new
     */
    long seen(int counter) {
        long last = shown.get(counter);
        if (words.getLongAcquire(start + 8L * counter) > last && showAll()) {
            return shown.get(counter);
        }
        if (link.isLost()) {
            throw link.lostNow();
        }
        return shown.get(counter);
    }

    private boolean showAll() {
        synchronized (found) {
            for (int i = 0; i < found.length; i++) {
                found[i] = words.getLongAcquire(start + 8L * i);
            }
            if (!link.fencesPassed()) {
                return false;
            }
            for (int i = 0; i < found.length; i++) {
                if (found[i] > shown.get(i)) {
                    shown.set(i, found[i]);
                }
            }
            return true;
        }
    }
}
