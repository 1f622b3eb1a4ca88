package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.memory.HostMemory;

/**
 * Who has closed a buffer. A rank that is done may close while a peer still tells it so: a write to memory that is no longer
 * registered would break the connection for all other buffers. So every rank says that it closes, after all that it wrote has
 * arrived; and memory stays registered until the peers have said so, data for a short time only.
 *
 * <p>The words are behind the counters of a buffer: one that each peer writes, then one that is 1.
 */
final class Farewells {
    private static final System.Logger LOGGER = System.getLogger(Farewells.class.getName());

    /** Data stays registered for peers that have not closed yet so long; their operations would fail anyhow. */
    static final Duration PATIENCE = Duration.ofMillis(500);

    /** Time for one of several peers to take what is under way. */
    static final Duration TURN = Duration.ofMillis(5);

    private static final long PAUSE_NANOS = 50_000;

    private final HostMemory words;
    private final int ranks;

    /** Over the words of a buffer of so many ranks. */
    Farewells(HostMemory words, int ranks) {
        this.words = words;
        this.ranks = ranks;
    }

    /** Bytes of counters and of these words. */
    static long bytes(int ranks) {
        return (long) ranks * LinkMemory.COUNTERS + 8L * (ranks + 1);
    }

    /** To be done before any peer can be told. */
    void prepare() {
        words.putLongRelease(one(), 1);
    }

    /**
     * Tells all peers, each once all before has arrived there: one that takes nothing must not keep the others from hearing it.
     *
     * @param why says why a link ends on which nothing arrives for long
     */
    void say(Collection<Link> links, Region counters, int self, Deadline end, String why) {
        Set<Link> waiting = new HashSet<>(links);
        Set<Link> informed = new HashSet<>();
        do {
            waiting.removeIf(link ->
                    isOver(link, () -> link.drainThen(TURN, () -> inform(link, counters, self, informed))));
        } while (!waiting.isEmpty() && !end.passed());
        for (Link link : waiting) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "a buffer is closed while writes to " + link.peer().label() + " are in flight");
            isOver(link, () -> {
                link.drainOrEnd(PATIENCE, () -> inform(link, counters, self, informed), why);
                return true;
            });
        }
    }

    /** Once: a peer that has heard it may have given the words back. */
    private void inform(Link link, Region counters, int self, Set<Link> informed) {
        if (!informed.contains(link)) {
            link.write(counters, word(self), one(), Long.BYTES, true, TURN, Link.NO_CHECK);
            informed.add(link);
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

    /** True if a peer has closed the buffer: its memory will soon not be registered any more. */
    boolean hasClosed(Link link) {
        return words.getLongAcquire(word(link.peer().index())) != 0;
    }

    /**
     * True when all peers have closed or are lost; waits a little for that. Then nothing of theirs is under way, and all
     * immediates that they sent have been counted.
     */
    boolean complete(Collection<Link> links) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!isComplete(links)) {
            if (System.nanoTime() - end >= 0) {
                return false;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return true;
    }

    /** As {@link #complete}, without waiting. */
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
