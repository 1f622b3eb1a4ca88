package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.ep4j.engine.memory.Resources;

/**
 * Counters of buffers that this rank has closed and that a peer may still advance, since it has not closed its own: their
 * memory stays registered, and their number taken, until each peer has said that it closed or is lost. A peer says so after all
 * that it posted for the buffer was acknowledged, and the queue pairs of a lost one are stopped; so once the completions that
 * are there are taken in, nothing can come that has the number. Safe for use from several threads.
 */
final class LingeringCounters implements AutoCloseable {
    private record Closed(Farewells farewells, List<Link> links, Resources words) {}

    private final List<Closed> closed = new ArrayList<>();

    /**
     * Takes over the counters of a buffer.
     *
     * @param links to the peers that may advance them
     * @param words gives them back
     */
    synchronized void add(Farewells farewells, Collection<Link> links, Resources words) {
        closed.add(new Closed(farewells, List.copyOf(links), words));
    }

    /** Frees the counters that nobody can advance any more. Waits for calls of other threads on their links. */
    void free() {
        List<Closed> done;
        synchronized (this) {
            done = closed.stream()
                    .filter(one -> one.farewells().allSaid(one.links()))
                    .toList();
            closed.removeAll(done);
        }
        for (Closed one : done) {
            one.links().forEach(Link::settle);
            one.words().close();
        }
    }

    /** Frees all of them: the queue pairs of the backend are stopped. */
    @Override
    public synchronized void close() {
        closed.forEach(one -> one.words().close());
        closed.clear();
    }
}
