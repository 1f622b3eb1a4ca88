package org.ep4j.tck.posted;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.EpConfig;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.HostPosted;

/**
 * The writes and counters that one rank posted to another and that have not arrived. Writes arrive late, in pieces and in any order, also
 * before a counter that was posted earlier; but no counter arrives before a write or counter that was posted before it. A source is read as
 * late as possible: when its piece arrives.
 */
final class PostedThreadsLink {
    private static final int MOST = 48;

    /** Bytes of all writes so far, on all links. */
    private static final AtomicLong WRITTEN = new AtomicLong();

    /** Bytes of writes of low latency. */
    private static final AtomicLong MESSAGES = new AtomicLong();

    /** Advances of each counter so far, on all links. */
    private static final AtomicLongArray ADVANCED = new AtomicLongArray(HostPosted.COUNTERS);

    private sealed interface Posted permits Write, Advance {}

    private record Write(long target, long source, long bytes) implements Posted {}

    /** An advance of a counter, with the {@link System#nanoTime} at which it was posted. */
    private record Advance(int counter, long value, long posted) implements Posted {}

    private final Endpoint own;
    private final Endpoint peer;
    private final Random random;
    private final Set<Integer> cut;
    private final AtomicBoolean refused;
    private final List<Posted> pending = new ArrayList<>();
    private final Limits limits;
    /** By counter: the last value that was posted. */
    private final long[] values = new long[HostPosted.COUNTERS];

    private int writes;
    private boolean broken;

    /** Whether the next write finds no room. */
    private boolean refuses;

    /** Whether the peer silently accepts no more data. */
    private boolean stuck;

    /**
     * The limits and failures of a link.
     *
     * @param cut writes after which it breaks; 0 means never
     * @param refused counter after whose first advance one write finds no room; -1 for none
     * @param queue writes that may be in flight; 0 means any number
     * @param stuck counter whose first advance is the last data that the peer accepts; -1 for none
     * @param late shortest time that counters are in flight
     * @param patience longest time that a write waits for room
     */
    record Limits(int cut, int refused, int queue, int stuck, Duration late, Duration patience) {
        private static final Duration LATE = Duration.ofMillis(50);

        /**
         * Reads the limits from settings.
         *
         * @param peer at the other end of the link
         * @param next whether that is the next rank, to which the link breaks or is stuck
         */
        static Limits of(EpConfig config, int peer, boolean next) {
            return new Limits(
                    next ? PostedThreadsProvider.CUT.get(config) : 0,
                    next ? PostedThreadsProvider.REFUSED.get(config) : -1,
                    PostedThreadsProvider.QUEUE.get(config),
                    next ? PostedThreadsProvider.STUCK.get(config) : -1,
                    PostedThreadsProvider.LATE.get(config) == peer ? LATE : Duration.ZERO,
                    PostedThreadsProvider.PATIENCE.get(config));
        }
    }

    /**
     * Creates a link from one rank to another.
     *
     * @param cut ranks that this one can no longer reach through any buffer
     * @param refused whether the write that is to fail has failed, through any buffer
     */
    PostedThreadsLink(Endpoint own, Endpoint peer, long seed, Limits limits, Set<Integer> cut, AtomicBoolean refused) {
        this.cut = cut;
        this.refused = refused;
        this.limits = limits;
        this.own = own;
        this.peer = peer;
        this.random = new Random(seed);
    }

    static long written() {
        return WRITTEN.get();
    }

    /** Returns the bytes of all writes of low latency so far, on all links. */
    static long messages() {
        return MESSAGES.get();
    }

    static long advanced(int counter) {
        return ADVANCED.get(counter);
    }

    synchronized void write(long target, long source, long bytes, boolean message) {
        check(own, source, bytes, "source");
        check(peer, target, bytes, "target");
        writes++;
        if (writes == limits.cut()) {
            cut.add(peer.rank());
        }
        checkReachable();
        if (refuses) {
            refuses = false;
            throw noRoom(pending.size());
        }
        awaitRoom();
        WRITTEN.addAndGet(bytes);
        MESSAGES.addAndGet(message ? bytes : 0);
        pending.add(new Write(target, source, bytes));
        while (pending.size() > MOST && !stuck) {
            deliver();
        }
    }

    /** Waits while the send queue is full; a peer that accepts no data for too long is lost. */
    private void awaitRoom() {
        long end = System.nanoTime() + limits.patience().toNanos();
        while (limits.queue() > 0 && pending.size() >= limits.queue()) {
            long left = end - System.nanoTime();
            if (left <= 0) {
                int waiting = pending.size();
                cut();
                throw noRoom(waiting);
            }
            try {
                TimeUnit.NANOSECONDS.timedWait(this, left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new EpStateException("interrupted while rank " + peer.rank() + " accepted no data");
            }
            checkReachable();
        }
    }

    private EpTimeoutException noRoom(int waiting) {
        return new EpTimeoutException(
                "rank " + peer.rank() + " accepted no data for "
                        + limits.patience().toMillis() + " ms",
                EpFailure.builder("post", peer.rank()).seen(waiting).build());
    }

    private static void check(Endpoint endpoint, long offset, long bytes, String what) {
        if (offset < 0 || bytes < 0 || offset + bytes > endpoint.memory().byteSize()) {
            throw new IllegalArgumentException(what + " " + offset + " + " + bytes + " is outside of "
                    + endpoint.memory().byteSize() + " bytes");
        }
    }

    synchronized void advance(int counter, long value) {
        checkReachable();
        if (value > values[counter]) {
            values[counter] = value;
            ADVANCED.incrementAndGet(counter);
            refuses |= counter == limits.refused() && refused.compareAndSet(false, true);
            pending.add(new Advance(counter, value, System.nanoTime()));
        }
    }

    synchronized void drain() {
        arrive();
        if (!pending.isEmpty()) {
            pending.clear();
            broken = true;
        }
        checkReachable();
    }

    /** Returns the failure of a broken link. */
    synchronized Optional<EpPeerLostException> lost() {
        try {
            checkReachable();
            return Optional.empty();
        } catch (EpPeerLostException e) {
            return Optional.of(e);
        }
    }

    private void checkReachable() {
        broken |= peer.isClosed();
        if (broken || cut.contains(peer.rank())) {
            pending.clear();
            throw new EpPeerLostException(
                    "rank " + peer.rank() + " cannot be reached by test0:1 of rank " + own.rank()
                            + " (status 12, RETRY_EXC_ERR, vendor error 129)",
                    EpFailure.builder("post", peer.rank())
                            .nic("test0:1")
                            .nativeStatus(12, "RETRY_EXC_ERR")
                            .build());
        }
    }

    /** Breaks the link of all buffers, since the peer or this rank died. */
    void cut() {
        cut.add(peer.rank());
        end();
    }

    /** Ends the link of a buffer that is closed. */
    synchronized void end() {
        broken = true;
        pending.clear();
        notifyAll();
    }

    /** Returns whether there is nothing to deliver. */
    synchronized boolean isIdle() {
        return stuck || pending.isEmpty();
    }

    /** Delivers all that the peer accepts, and returns false if something is left. */
    synchronized boolean arrive() {
        while (!pending.isEmpty() && !stuck && !peer.isClosed()) {
            deliver();
        }
        return pending.isEmpty();
    }

    /** Delivers one piece or counter. */
    synchronized void deliver() {
        List<Integer> writes = new ArrayList<>();
        int firstCounter = -1;
        for (int i = 0; i < pending.size(); i++) {
            if (pending.get(i) instanceof Write) {
                writes.add(i);
            } else if (firstCounter < 0) {
                firstCounter = i;
            }
        }
        boolean counterMay = firstCounter == 0 && isDue((Advance) pending.get(0));
        if (counterMay && (writes.isEmpty() || random.nextInt(4) > 0)) {
            Advance advance = (Advance) pending.remove(0);
            peer.count(own.rank(), advance.counter(), advance.value());
            stuck |= advance.counter() == limits.stuck();
        } else if (!writes.isEmpty()) {
            deliverPiece(writes.get(random.nextInt(writes.size())));
        }
        notifyAll();
    }

    private boolean isDue(Advance advance) {
        return System.nanoTime() - advance.posted() >= limits.late().toNanos();
    }

    private void deliverPiece(int index) {
        Write whole = (Write) pending.get(index);
        long first =
                whole.bytes() > 1 && random.nextInt(3) == 0 ? 1 + random.nextLong(whole.bytes() - 1) : whole.bytes();
        boolean tail = random.nextBoolean();
        long rest = whole.bytes() - first;
        long skipped = tail ? rest : 0;
        peer.receive(whole.target() + skipped, own, whole.source() + skipped, first);
        if (rest == 0) {
            pending.remove(index);
        } else {
            long at = tail ? 0 : first;
            pending.set(index, new Write(whole.target() + at, whole.source() + at, rest));
        }
    }
}
