package org.ep4j.spi;

import java.util.List;
import org.ep4j.EpPath;

/**
 * A path that a backend can give a pair of ranks.
 *
 * @param kind how bytes move
 * @param gigabytesPerSecond estimated bandwidth of one direction while the writing rank writes to no other peer, in 1e9 bytes a
 *     second
 * @param latencyMicros estimated time for one small counted write to be seen, in microseconds
 * @param nics NIC ports of the writing rank that it could use, as {@code name:port}, best first; the plan assigns some of
 *     them; empty where there is none in the way
 * @param staged true when bytes of a device take a detour through host memory
 * @param flow limits of what is in flight on these NICs, for people; empty if none is known
 * @param sharers number of rank pairs that divide {@code gigabytesPerSecond} when all ranks of the host write to each
 *     other, this pair included; 1 if the pair has its own links, is between hosts, or the sharing is not estimated
 *     (PCIe, GPU switches, sockets)
 */
public record PathOffer(
        EpPath.Kind kind,
        double gigabytesPerSecond,
        double latencyMicros,
        List<String> nics,
        boolean staged,
        String flow,
        int sharers)
        implements Offer {
    /** Creates an offer without a description of flow control, for a pair that shares its bandwidth with no other. */
    public PathOffer(
            EpPath.Kind kind, double gigabytesPerSecond, double latencyMicros, List<String> nics, boolean staged) {
        this(kind, gigabytesPerSecond, latencyMicros, nics, staged, "", 1);
    }

    /** Creates an offer of a path without a detour through host memory. */
    public PathOffer(EpPath.Kind kind, double gigabytesPerSecond, double latencyMicros, List<String> nics) {
        this(kind, gigabytesPerSecond, latencyMicros, nics, false, "", 1);
    }

    /** Copies the list and checks the estimates. */
    public PathOffer {
        nics = List.copyOf(nics);
        if (!(gigabytesPerSecond > 0) || !(latencyMicros > 0) || sharers < 1) {
            throw new IllegalArgumentException("a path offer needs positive estimates, got " + gigabytesPerSecond
                    + " GB/s, " + latencyMicros + " us and " + sharers + " sharers");
        }
    }

    /** Bandwidth in GB/s that the pair gets when all ranks of the host write to each other. */
    public double sharedGigabytesPerSecond() {
        return gigabytesPerSecond / sharers;
    }

    /** Returns a copy of this offer with other estimates. */
    public PathOffer withEstimates(double gigabytes, double micros) {
        return new PathOffer(kind, gigabytes, micros, nics, staged, flow, sharers);
    }

    /** Returns a copy of this offer with other NICs. */
    public PathOffer withNics(List<String> other) {
        return new PathOffer(kind, gigabytesPerSecond, latencyMicros, other, staged, flow, sharers);
    }

    /** Returns a copy of this offer whose bytes take a detour through host memory. */
    public PathOffer throughHostMemory() {
        return new PathOffer(kind, gigabytesPerSecond, latencyMicros, nics, true, flow, sharers);
    }

    /** Returns a copy of this offer with a description of its flow control. */
    public PathOffer withFlow(String text) {
        return new PathOffer(kind, gigabytesPerSecond, latencyMicros, nics, staged, text, sharers);
    }

    /** Returns a copy of this offer whose bandwidth is shared by {@code pairs} pairs. */
    public PathOffer withSharers(int pairs) {
        return new PathOffer(kind, gigabytesPerSecond, latencyMicros, nics, staged, flow, pairs);
    }
}
