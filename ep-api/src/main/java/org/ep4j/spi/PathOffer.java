package org.ep4j.spi;

import java.util.List;
import org.ep4j.plan.PathKind;

/**
 * A path that a backend can give a pair of ranks.
 *
 * @param kind how bytes move
 * @param gigabytesPerSecond estimated bandwidth of one direction, in 1e9 bytes a second
 * @param latencyMicros estimated time for one small counted write to be seen, in microseconds
 * @param nics NIC ports of the writing rank that it could use, as {@code name:port}, best first; the plan assigns some of
 *     them; empty where there is none in the way
 * @param staged true when bytes of a device take a detour through host memory
 */
public record PathOffer(
        PathKind kind, double gigabytesPerSecond, double latencyMicros, List<String> nics, boolean staged)
        implements Offer {
    /** A path without a detour. */
    public PathOffer(PathKind kind, double gigabytesPerSecond, double latencyMicros, List<String> nics) {
        this(kind, gigabytesPerSecond, latencyMicros, nics, false);
    }

    /** Copies the list and checks the estimates. */
    public PathOffer {
        nics = List.copyOf(nics);
        if (!(gigabytesPerSecond > 0) || !(latencyMicros > 0)) {
            throw new IllegalArgumentException("a path offer needs positive estimates, got " + gigabytesPerSecond
                    + " GB/s and " + latencyMicros + " us");
        }
    }
}
