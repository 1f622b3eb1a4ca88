package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

/**
 * Handshake by which the ranks of a buffer close it. A rank that is done may close while a peer still notifies it that
 * it is done, too: a write to memory that is no longer registered would break the connection for all other buffers. So
 * every rank notifies its peers that it closes, after all that it wrote has arrived; and memory stays registered until
 * the peers have notified this rank, data for a short time only.
 *
 * <p>The words of the handshake are behind the counters of a buffer: one that each peer writes, then one that is 1,
 * which this rank copies to its word on each peer.
 */
final class CloseHandshake {
    private static final System.Logger LOGGER = System.getLogger(CloseHandshake.class.getName());

    /** Data stays registered so long for peers that have not closed yet; their operations would fail anyhow. */
    static final Duration GRACE = Duration.ofMillis(500);

    /** Time for one of several peers to accept what is in flight. */
    static final Duration TURN = Duration.ofMillis(5);

    private static final long PAUSE_NANOS = 50_000;

    private final HostMemory words;
    private final int ranks;

    /** Over the words of a buffer of so many ranks. */
    CloseHandshake(HostMemory words, int ranks) {
        this.words = words;
        this.ranks = ranks;
    }

    /** Bytes of counters and of these words. */
    static long bytes(int ranks) {
        return (long) ranks * LinkMemory.COUNTERS + 8L * (ranks + 1);
    }

    /** Sets the word that is 1. Called before any peer can be notified. */
    void prepare() {
        words.putLongRelease(one(), 1);
    }

    /**
     * Notifies all peers that this rank closes the buffer, each peer once all earlier writes to it have arrived. A peer
     * that accepts nothing does not keep the others from being notified.
     *
     * @param why why a link ends on which nothing arrives for long, for messages
     */
    void notifyPeers(Collection<Link> links, Region counters, int self, Deadline end, String why) {
        Set<Link> waiting = new HashSet<>(links);
        Set<Link> notified = new HashSet<>();
        do {
            waiting.removeIf(link ->
                    isOver(link, () -> link.drainThen(TURN, () -> notifyOnce(link, counters, self, notified))));
        } while (!waiting.isEmpty() && !end.passed());
        for (Link link : waiting) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "a buffer is closed while writes to " + link.peer().label() + " are in flight");
            isOver(link, () -> {
                link.drainOrEnd(GRACE, () -> notifyOnce(link, counters, self, notified), why);
                return true;
            });
        }
    }

    /** Writes to a peer only once: a peer that was notified may have given the words back. */
    private void notifyOnce(Link link, Region counters, int self, Set<Link> notified) {
        if (!notified.contains(link)) {
            link.write(counters, word(self), one(), Long.BYTES, true, TURN, Link.NO_CHECK);
            notified.add(link);
        }
    }

    private static boolean isOver(Link link, BooleanSupplier last) {
        try {
            return last.getAsBoolean();
        } catch (EpTimeoutException e) {
            return false;
        } catch (EpPeerLostException e) {
            LOGGER.log(
                    System.Logger.Level.DEBUG,
                    "a buffer was closed without a notice to " + link.peer().label(),
                    e);
            return true;
        }
    }

    /** Returns true if a peer has closed the buffer: its memory will soon not be registered any more. */
    boolean hasClosed(Link link) {
        return words.getLongAcquire(word(link.peer().index())) != 0;
    }

    /**
     * Waits a little until all peers have closed or are lost. Then nothing of theirs is in flight, and all immediates
     * that they sent have been counted.
     *
     * @return whether all have closed or are lost
     */
    boolean awaitPeers(Collection<Link> links) {
        long end = System.nanoTime() + GRACE.toNanos();
        while (!isComplete(links)) {
            if (System.nanoTime() - end >= 0) {
                return false;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return true;
    }

    /** As {@link #awaitPeers}, without waiting. */
    boolean isComplete(Collection<Link> links) {
        return links.stream().allMatch(link -> link.isLost() || hasClosed(link))
                && links.stream().allMatch(Link::trySettle);
    }

    private long word(int index) {
        return (long) ranks * LinkMemory.COUNTERS + 8L * index;
    }

    private long one() {
        return word(ranks);
    }
}
