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
 * What one rank posted to another and has not arrived. It arrives late, in pieces, in any order: of the writes before a
 * counter, and also of those after it, which may come sooner than the counter; but no counter comes before a write that was
 * posted before it, or before an earlier counter. A source is read as late as can be: when its piece arrives.
 */
final class Link {
    private static final int MOST = 48;

    /** Bytes of all writes so far, over all links. */
    private static final AtomicLong WRITTEN = new AtomicLong();

    /** Bytes of writes of low latency. */
    private static final AtomicLong MESSAGES = new AtomicLong();

    /** By counter: how often it was advanced so far, over all links. */
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
    private int writes;
    private boolean broken;

    /** The next write finds no room. */
    private boolean refuses;

    /** The peer takes nothing any more, and does not say so. */
    private boolean stuck;

    /**
     * What a link does not do for ever.
     *
     * @param cut writes after which it breaks; 0 means never
     * @param refused counter after whose first advance one write finds no room; -1 for none
     * @param queue writes that may be under way; 0 means any number
     * @param stuck counter whose first advance is the last thing that the peer takes; -1 for none
     * @param late how long counters are under way at least
     * @param patience how long a write waits for room
     */
    record Limits(int cut, int refused, int queue, int stuck, Duration late, Duration patience) {
        private static final Duration LATE = Duration.ofMillis(50);

        /**
         * From settings.
         *
         * @param peer to which the link leads
         * @param next whether that is the next rank, the link to which is the one that breaks or is stuck
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
     * From one rank to another.
     *
     * @param cut ranks that this one cannot reach any more through any buffer
     * @param refused whether the write that is to fail has failed, through any buffer
     */
    Link(Endpoint own, Endpoint peer, long seed, Limits limits, Set<Integer> cut, AtomicBoolean refused) {
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

    /** Bytes of all writes of low latency so far, over all links. */
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

    /** As a full send queue does; whoever takes nothing for too long is given up. */
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
                throw new EpStateException("interrupted while rank " + peer.rank() + " took nothing");
            }
            checkReachable();
        }
    }

    private EpTimeoutException noRoom(int waiting) {
        return new EpTimeoutException(
                "rank " + peer.rank() + " took nothing for " + limits.patience().toMillis() + " ms",
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
        ADVANCED.incrementAndGet(counter);
        refuses |= counter == limits.refused() && refused.compareAndSet(false, true);
        pending.add(new Advance(counter, value, System.nanoTime()));
    }

    synchronized void drain() {
        arrive();
        if (!pending.isEmpty()) {
            pending.clear();
            broken = true;
        }
        checkReachable();
    }

    /** What is thrown where nothing passes any more. */
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

    /** The peer died, or this rank did: nothing comes there through any buffer. */
    void cut() {
        cut.add(peer.rank());
        end();
    }

    /** The buffer is closed. */
    synchronized void end() {
        broken = true;
        pending.clear();
        notifyAll();
    }

    /** Nothing is to be delivered. */
    synchronized boolean isIdle() {
        return stuck || pending.isEmpty();
    }

    /** Lets all arrive that the peer takes; false if something is left. */
    synchronized boolean arrive() {
        while (!pending.isEmpty() && !stuck && !peer.isClosed()) {
            deliver();
        }
        return pending.isEmpty();
    }

    /** Lets one piece or counter arrive. */
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
