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
 * @param flow what the backend lets be under way at once on these NICs, for people; empty where it knows no limit
 * @param sharers how many peers of the writing rank share the bandwidth when it writes to all of them; 1 where the path has it alone.
 *     Offers of different backends are compared by the part of one peer
 */
public record PathOffer(
        PathKind kind,
        double gigabytesPerSecond,
        double latencyMicros,
        List<String> nics,
        boolean staged,
        String flow,
        int sharers)
        implements Offer {
    /** A path of which no flow control is told. */
    public PathOffer(
            PathKind kind, double gigabytesPerSecond, double latencyMicros, List<String> nics, boolean staged) {
        this(kind, gigabytesPerSecond, latencyMicros, nics, staged, "", 1);
    }

    /** A path without a detour. */
    public PathOffer(PathKind kind, double gigabytesPerSecond, double latencyMicros, List<String> nics) {
        this(kind, gigabytesPerSecond, latencyMicros, nics, false, "", 1);
    }

    /** Copies the list and checks the estimates. */
    public PathOffer {
        nics = List.copyOf(nics);
        if (!(gigabytesPerSecond > 0) || !(latencyMicros > 0)) {
            throw new IllegalArgumentException("a path offer needs positive estimates, got " + gigabytesPerSecond
                    + " GB/s and " + latencyMicros + " us");
        }
        if (sharers < 1) {
            throw new IllegalArgumentException("a path offer is shared by one peer or more, got " + sharers);
        }
    }

    /** The same path with other estimates. */
    public PathOffer withEstimates(double gigabytes, double micros) {
        return new PathOffer(kind, gigabytes, micros, nics, staged, flow, sharers);
    }

    /** The same path with other NICs. */
    public PathOffer withNics(List<String> other) {
        return new PathOffer(kind, gigabytesPerSecond, latencyMicros, other, staged, flow, sharers);
    }

    /** The same path with bytes that take a detour through host memory. */
    public PathOffer throughHostMemory() {
        return new PathOffer(kind, gigabytesPerSecond, latencyMicros, nics, true, flow, sharers);
    }

    /** The same path with what is told of its flow control. */
    public PathOffer withFlow(String text) {
        return new PathOffer(kind, gigabytesPerSecond, latencyMicros, nics, staged, text, sharers);
    }

    /** The same path with bandwidth that so many peers share. */
    public PathOffer sharedBy(int peers) {
        return new PathOffer(kind, gigabytesPerSecond, latencyMicros, nics, staged, flow, peers);
    }

    /** Bandwidth that is left for one peer when the rank writes to all that share it. */
    public double gigabytesPerSecondOfPeer() {
        return gigabytesPerSecond / sharers;
    }
}
