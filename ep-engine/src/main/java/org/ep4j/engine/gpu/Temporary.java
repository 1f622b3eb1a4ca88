package org.ep4j.engine.gpu;

import org.ep4j.EpShape;

/** Device memory that holds nothing between operations: for counts and prefixes of the kernels of one operation. */
final class Temporary {
    private Temporary() {}

    /** Bytes; kernels say what they keep there. */
    static long bytes(EpShape shape, int ranks) {
        // The most demanding: a histogram of the local experts for every 256 rows that can be received.
        long rows = Math.max(shape.maxTokens() == 0 ? 0 : shape.receiveCapacity(ranks), shape.lowLatencyRows(ranks));
        long chunks = (rows + 255) / 256 + 1;
        long counts = Math.max(chunks * shape.experts() + 2L * shape.experts() * ranks, Pieces.counts(shape, ranks));
        return 4 * (counts + 4096 + (ranks + 63L) / 64 * 64);
    }
}
