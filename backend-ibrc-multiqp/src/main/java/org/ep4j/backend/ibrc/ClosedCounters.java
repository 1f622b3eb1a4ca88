package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.ep4j.transport.memory.Resources;

/**
 * Counters of buffers that this rank has closed, or has failed to make, while peers may still write to them. They stay registered, with
 * their number, until all peers have closed the buffer too or are lost: a write to memory that is not registered breaks the connection
 * for all buffers, and what comes late must not count for a younger buffer. Safe for use from several threads.
 */
final class ClosedCounters implements AutoCloseable {
    private final List<Held> all = new ArrayList<>();

    private record Held(CloseHandshake handshake, List<Link> links, Resources counters) {}

    /** Keeps counters until the peers of these links are done with them. */
    synchronized void keep(CloseHandshake handshake, Collection<Link> links, Resources counters) {
        all.add(new Held(handshake, List.copyOf(links), counters));
    }

    /** Gives back what no peer uses any more. */
    synchronized void release() {
        all.removeIf(held -> {
            boolean done = held.handshake().isComplete(held.links());
            if (done) {
                held.counters().close();
            }
            return done;
        });
    }

    /** Gives back all, when nothing can come any more. */
    @Override
    public synchronized void close() {
        all.forEach(held -> held.counters().close());
        all.clear();
    }
}
