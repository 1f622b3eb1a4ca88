package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.locks.LockSupport;
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

    /** Tells the peer of a link, once all before has arrived there. */
    void say(Link link, Region counters, int self, Deadline end) {
        try {
            if (linger(link, end)) {
                link.write(counters, word(self), one(), Long.BYTES, end.left());
                linger(link, end);
            }
        } catch (EpPeerLostException | EpTimeoutException e) {
            LOGGER.log(System.Logger.Level.DEBUG, "closed without a word to the peer: {0}", e.getMessage());
        }
    }

    /**
     * Gives what is under way some time to arrive; then nobody waits for it any more.
     *
     * @return true when it has arrived
     */
    private static boolean linger(Link link, Deadline end) {
        if (link.isLost()) {
            return false;
        }
        try {
            link.drain(end.left());
            return true;
        } catch (EpTimeoutException | EpPeerLostException e) {
            LOGGER.log(System.Logger.Level.WARNING, "closed while writes were under way: {0}", e.getMessage());
            return false;
        }
    }

    /**
     * True when all peers have closed or are lost; waits a little for that. Then nothing of theirs is under way, and all
     * immediates that they sent have been counted.
     */
    boolean complete(Collection<Link> links) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            boolean all = allSaid(links);
            if (all || System.nanoTime() - end >= 0) {
                links.forEach(Link::settle);
                return all;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /** True when each peer has said that it closed, or is lost. Does not wait. */
    boolean allSaid(Collection<Link> links) {
        return links.stream()
                .allMatch(link ->
                        link.isLost() || words.getLongAcquire(word(link.peer().index())) != 0);
    }

    private long word(int index) {
        return (long) ranks * LinkMemory.COUNTERS + 8L * index;
    }

    private long one() {
        return word(ranks);
    }
}
