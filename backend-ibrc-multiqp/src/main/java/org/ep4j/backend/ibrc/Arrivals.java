package org.ep4j.backend.ibrc;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import org.ep4j.spi.HostPosted;

/**
 * The counters of one source on this rank, shown in the order in which the source advanced them. Safe for use from several
 * threads.
 *
 * <p>The words themselves are in that order, for they advance on one lane. A word may be shown once all lanes have passed the
 * fences that are announced after it was read. When one is, all are: otherwise a later fence could hold back a counter that was
 * advanced before one that has been shown.
 */
final class Arrivals {
    private static final long ALL = -1;

    private final LongUnaryOperator words;
    private final long start;
    private final boolean known;
    private final LongSupplier news;
    private final BooleanSupplier fencesPassed;
    private final long[] found = new long[HostPosted.COUNTERS];
    private final AtomicLongArray shown = new AtomicLongArray(HostPosted.COUNTERS);
    private long changed;

    /**
     * Over the words of one source.
     *
     * @param counters of all sources
     * @param source its index
     * @param memory words of the link to the source
     * @param atomics true when the NIC counts, so that nobody here knows which words are new
     */
    static Arrivals of(Buffers.Counted counters, int source, LinkMemory memory, boolean atomics) {
        return new Arrivals(
                counters.words()::getLongAcquire,
                (long) source * LinkMemory.COUNTERS,
                atomics ? Optional.empty() : Optional.of(() -> counters.takeNews(source)),
                memory::fencesPassed);
    }

    /**
     * Over what may also be something else.
     *
     * @param words by their offset, read with acquire order
     * @param start offset of the first
     * @param news takes which words have advanced, as bits that are set after the words; without it any may have
     * @param fencesPassed see {@link LinkMemory#fencesPassed}
     */
    Arrivals(LongUnaryOperator words, long start, Optional<LongSupplier> news, BooleanSupplier fencesPassed) {
        this.words = words;
        this.start = start;
        this.known = news.isPresent();
        this.news = news.orElse(() -> ALL);
        this.fencesPassed = fencesPassed;
    }

    /** The value of a counter, as far as it has been shown. */
    long shown(int counter) {
        return shown.get(counter);
    }

    /** Shows what is new of a counter, and with it of all; false where nothing is. */
    boolean showNew(int counter) {
        long last = shown.get(counter);
        long value = word(counter);
        return value > last && showAll(counter, value);
    }

    /**
     * Reads all words that may be new as they were at one moment: words only grow, so they were so between two equal readings.
     * A single reading could have an old value of one counter and a new one of a counter that was advanced after it; but not
     * where nothing is new but the word that was read before all others, as after a message that comes alone.
     *
     * @param counter whose word has been read already
     * @param value what it was
     * @return false when they changed meanwhile
     */
    private boolean readNew(int counter, long value) {
        changed |= news.getAsLong() | 1L << counter;
        boolean others = false;
        found[counter] = value;
        for (long left = changed & ~(1L << counter); left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            found[i] = word(i);
            others |= found[i] != shown.get(i);
        }
        for (long left = others ? changed : 0; left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            if (found[i] != word(i)) {
                return false;
            }
        }
        // A word that was not read may have advanced before one that was.
        long more = known ? news.getAsLong() : 0;
        changed |= more;
        return more == 0;
    }

    private long word(int counter) {
        return words.applyAsLong(start + 8L * counter);
    }

    private boolean showAll(int counter, long value) {
        synchronized (found) {
            if (!fencesPassed.getAsBoolean() || !readNew(counter, value) || !fencesPassed.getAsBoolean()) {
                return false;
            }
            for (long left = changed; left != 0; left &= left - 1) {
                int i = Long.numberOfTrailingZeros(left);
                if (found[i] > shown.get(i)) {
                    shown.set(i, found[i]);
                }
            }
            changed = 0;
            return true;
        }
    }
}
