package org.ep4j.backend.ibrc;

import org.jspecify.annotations.Nullable;

/**
 * How often completion queues are looked at inside of one call that finds nothing: one call for each look would be most of the
 * time between arrival and the reader. Who asks for one peer only, as a wait for its counter does, loses nothing by it; who
 * asks for several in turn gets one look at each. Safe for use from several threads, which count as several peers.
 */
final class Looks {
    /** A look at an empty queue takes a NIC's library some 10 ns, so a call stays below a microsecond. */
    private static final int MANY = 32;

    // A hint: whatever a thread reads here is one of the links.
    private @Nullable Link last;

    /** Looks for a call that concerns a link. */
    int at(Link link) {
        if (last == link) {
            return MANY;
        }
        last = link;
        return 1;
    }
}
