package org.ep4j.engine.host;

/**
 * Routing of one high-throughput dispatch, as sender and as receiver. Arrays may be longer than what they hold; nothing changes them
 * while a handle refers to this.
 */
final class HighThroughputRouting {
    final Routing sent;
    private final int topK;

    /** Row on the target rank, for each of {@link Routing#targets}. */
    int[] targetRows = {};

    /** First row of each source on each target, {@code [R * R]}. */
    final int[] firstRows;

    /** Number of rows that arrived, no padding. */
    int received;

    /** Source rank of each row, {@code [received]}. */
    int[] sourceRanks = {};

    /** Token at the source of each row, {@code [received]}. */
    int[] sourceTokens = {};

    /** Local expert indices, {@code [received * K]}; -1 where not on this rank. */
    int[] localIds = {};

    /** Rows in the by-expert layout, {@code [received * K]}; -1 where not on this rank; without meaning by rank. */
    int[] expandedRows = {};

    /** Number of selections of each local expert, {@code [L]}. */
    final int[] expertRows;

    /** First row of each group in the by-expert layout, {@code [L + 1]}. */
    final long[] expertOffsets;

    HighThroughputRouting(int topK, int ranks, int localExperts) {
        sent = new Routing(topK, ranks);
        this.topK = topK;
        firstRows = new int[ranks * ranks];
        expertRows = new int[localExperts];
        expertOffsets = new long[localExperts + 1];
    }

    /** Makes room for rows on the targets of {@link #sent}. */
    void beginTargets() {
        targetRows = Grow.ints(targetRows, sent.targetCount());
    }

    void beginReceived(int rows) {
        received = rows;
        sourceRanks = Grow.ints(sourceRanks, rows);
        sourceTokens = Grow.ints(sourceTokens, rows);
        localIds = Grow.ints(localIds, Math.multiplyExact(rows, topK));
    }

    void beginExpanded() {
        expandedRows = Grow.ints(expandedRows, received * topK);
    }
}
