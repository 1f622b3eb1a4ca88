package org.ep4j.backend.ibrc;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.BooleanSupplier;
import java.util.function.LongUnaryOperator;
import org.ep4j.EpPeerLostException;
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
    private final LongUnaryOperator words;
    private final long start;
    private final BooleanSupplier fencesPassed;
    private final Runnable checkAlive;
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
        this(words::getLongAcquire, start, link::fencesPassed, () -> {
            if (link.isLost()) {
                throw link.lostNow();
            }
        });
    }

    /**
     * Over what may also be something else.
     *
     * @param words by their offset, read with acquire order
     * @param fencesPassed see {@link Link#fencesPassed}
     * @param checkAlive throws when the source is lost
     */
    Arrivals(LongUnaryOperator words, long start, BooleanSupplier fencesPassed, Runnable checkAlive) {
        this.words = words;
        this.start = start;
        this.fencesPassed = fencesPassed;
        this.checkAlive = checkAlive;
    }

    /**
     * The value of a counter.
     *
     * @throws org.ep4j.EpPeerLostException when the source is lost and there is nothing new
     */
    long seen(int counter) {
        if (!showNew(counter)) {
            try {
                checkAlive.run();
            } catch (EpPeerLostException e) {
                // What came last may have come after the look at the word.
                if (!showNew(counter)) {
                    throw e;
                }
            }
        }
        return shown.get(counter);
    }

    /** Shows what is new of a counter, and with it of all; false where nothing is. */
    boolean showNew(int counter) {
        long last = shown.get(counter);
        long value = word(counter);
        return value > last && showAll(counter, value);
    }

    /**
     * Reads all words as they were at one moment: words only grow, so they were so between two equal readings. A single
     * reading could have an old value of one counter and a new one of a counter that was advanced after it; but not where
     * nothing is new but the word that was read before all others, as after a message that comes alone.
     *
     * @param counter whose word has been read already
     * @param value what it was
     * @return false when they changed meanwhile
     */
    private boolean readAll(int counter, long value) {
        boolean others = false;
        found[counter] = value;
        for (int i = 0; i < found.length; i++) {
            if (i != counter) {
                found[i] = word(i);
                others |= found[i] != shown.get(i);
            }
        }
        for (int i = 0; others && i < found.length; i++) {
            if (found[i] != word(i)) {
                return false;
            }
        }
        return true;
    }

    private long word(int counter) {
        return words.applyAsLong(start + 8L * counter);
    }

    private boolean showAll(int counter, long value) {
        synchronized (found) {
            if (!readAll(counter, value) || !fencesPassed.getAsBoolean()) {
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
