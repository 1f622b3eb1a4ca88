package org.ep4j.cli.rank;

import java.util.List;

/**
 * Work of the rank processes that measure counted writes; the same text for all of them.
 *
 * @param ranks number of ranks
 * @param backend backend that alone may be used; empty for any
 * @param sizes bytes of a write, each a multiple of 8
 * @param writes of a run at most
 * @param volume bytes of a run at most, unless that is less than {@link #writesPerCounter} writes
 * @param writesPerCounter writes after which a counter advances, where rates are measured
 * @param pings round trips, where times are measured
 * @param repeats runs of each size
 * @param warmup writes of each size before any of it counts, of no more bytes than a run has; and a tenth as many round trips
 * @param receiverWaits whether the receiver polls its counters while rates are measured, or only when all was sent
 */
public record WriteSpec(
        int ranks,
        String backend,
        List<Integer> sizes,
        int writes,
        long volume,
        int writesPerCounter,
        int pings,
        int repeats,
        int warmup,
        boolean receiverWaits) {
    int largest() {
        return sizes.stream().mapToInt(Integer::intValue).max().orElse(8);
    }

    int writes(int size) {
        return (int) Math.max(writesPerCounter, Math.min(writes, volume / size));
    }

    /** Round trips of a run; those of large writes are fewer. */
    int pings(int size) {
        return (int) Math.max(10, Math.min(pings, volume / 2 / size));
    }

    /** Writes before any of this size counts. */
    int warmUpWrites(int size) {
        return (int) Math.min(warmup, (volume + size - 1) / size);
    }

    /** Round trips before any of this size counts. */
    int warmUpPings(int size) {
        return (warmUpWrites(size) + 9) / 10;
    }
}
