package org.ep4j.engine.sync;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * The operation at which this rank is, as ranks compare it in a recovery. A recovery can return on some ranks only: these go back to
 * the smallest number that it reported and count from there, the others still count from an earlier recovery. So ranks exchange
 * positions, from which each computes what it reports: that may differ between ranks, but its smallest number means the same
 * operation on all of them. This holds too if a rank that was behind died before the others had its number.
 */
final class Progress {
    /** The position to which this rank went back when a recovery last returned here. */
    private long base;

    /**
     * Position of this rank.
     *
     * @param completed operations since a recovery last returned here
     */
    long position(long completed) {
        return base + completed;
    }

    /**
     * Ends a recovery.
     *
     * @param positions by rank, this one's among them
     * @return by rank: operations since a recovery last returned here before this one
     */
    Map<Integer, Long> recovered(Map<Integer, Long> positions) {
        Map<Integer, Long> completed = new TreeMap<>();
        positions.forEach((rank, position) -> completed.put(rank, position - base));
        base = Collections.min(positions.values());
        return completed;
    }
}
