package org.ep4j.backend.ibrc;

import org.ep4j.spi.HostPosted;
import org.ep4j.transport.memory.HostMemory;

/**
 * The words of one link: those that the peer advances here, and those that this rank advances there. Only the thread
 * that holds the lock of the link calls {@link #apply}; any thread may call the other methods.
 *
 * <p>The control memory of a rank has, for each source, {@link Words}; then a word that is 1, a word for the old values
 * of counters, which nobody reads, and for each peer room for a copy of words of that peer.
 */
final class LinkMemory {
    /** Bytes of the counters that a buffer has for one source. */
    static final int COUNTERS = 8 * HostPosted.COUNTERS;

    private final Words words;
    private final Layout layout;
    private final Region control;
    private final HostMemory local;
    private final int self;
    private final int peer;
    private final Counts counters;
    /** Fences that all lanes of the peer are known to have passed. Written by any thread that reads counters. */
    private volatile long passed;

    /** The counters of buffers. */
    interface Counts {
        /** Adds to a counter that a source, by its index, has in a buffer, by its number. */
        void add(int buffer, int source, int counter, long delta);
    }

    /**
     * Where things lie in the control memory of every rank.
     *
     * @param ranks number of ranks
     * @param stride bytes of the words of a source
     */
    record Layout(int ranks, int stride) {
        long one() {
            return (long) ranks * stride;
        }

        long scratch() {
            return one() + 64;
        }

        long copy(int peer) {
            return one() + 128 + (long) peer * copyBytes();
        }

        private int copyBytes() {
            return Math.max(stride, COUNTERS);
        }

        long bytes() {
            return copy(ranks);
        }
    }

    /**
     * For one link.
     *
     * @param local the control memory of this rank
     * @param self this rank's index, which is its place on the peer
     * @param peer the peer's index
     * @param counters of the buffers, for immediates
     */
    LinkMemory(Words words, Layout layout, Region control, HostMemory local, int self, int peer, Counts counters) {
        this.words = words;
        this.layout = layout;
        this.control = control;
        this.local = local;
        this.self = self;
        this.peer = peer;
        this.counters = counters;
    }

    Words words() {
        return words;
    }

    /** This rank's index. */
    int self() {
        return self;
    }

    Region control() {
        return control;
    }

    /** Address here of a word that is 1. */
    long one() {
        return control.address() + layout.one();
    }

    /** Address here where old values of counters go. */
    long scratch() {
        return control.address() + layout.scratch();
    }

    /** Address on the peer of one of this rank's words. */
    long remote(long word) {
        return control.remoteAddress(peer) + (long) self * layout.stride() + word;
    }

    /** Address on the peer of this rank's first word in a region of words. */
    long remoteOf(Region region) {
        return region.equals(control) ? remote(0) : region.remoteAddress(peer) + (long) self * COUNTERS;
    }

    /** Bytes of this rank's words in a region of words. */
    int length(Region region) {
        return region.equals(control) ? words.bytes() : COUNTERS;
    }

    /** Address here of the room for a copy of words. */
    long copy() {
        return control.address() + layout.copy(peer);
    }

    long[] copied() {
        long[] found = new long[Math.max(layout.stride(), COUNTERS) / Long.BYTES];
        for (int i = 0; i < found.length; i++) {
            found[i] = local.getLongAcquire(layout.copy(peer) + 8L * i);
        }
        return found;
    }

    private long here(long word) {
        return (long) peer * layout.stride() + word;
    }

    /**
     * Returns true if all lanes of the peer to this rank have passed the fences that the peer has announced. Called
     * after the peer's counter was read.
     */
    boolean fencesPassed() {
        long announced = local.getLongAcquire(here(words.fences()));
        if (announced <= passed) {
            return true;
        }
        for (int lane = 0; lane < words.lanes(); lane++) {
            if (local.getLongAcquire(here(words.lane(lane))) < announced) {
                return false;
            }
        }
        passed = announced;
        return true;
    }

    /** True once the peer has stopped its queue pairs of a rail. */
    boolean stoppedByPeer(int rail) {
        return local.getLongAcquire(here(words.stopped(rail))) != 0;
    }

    /** Adds to a word as the peer says by an immediate. */
    void apply(int code) {
        if (Immediate.isCounter(code)) {
            if (Immediate.isAfterFence(code)) {
                add(local, here(words.fences()), 1);
            }
            counters.add(Immediate.buffer(code), peer, Immediate.counterIndex(code), Immediate.delta(code));
        } else if (Immediate.isFence(code)) {
            add(local, here(words.fences()), 1);
        } else {
            long delta = Immediate.closes(code) ? Words.CLOSED : 1;
            add(local, here(words.lane(Immediate.laneIndex(code))), delta);
        }
    }

    private static void add(HostMemory memory, long word, long delta) {
        memory.putLongRelease(word, memory.getLong(word) + delta);
    }
}
