package org.ep4j.engine.host;

/**
 * Routing of one high-throughput dispatch, as sender and as receiver. Arrays may be longer than what they hold; not changed while a
 * handle refers to it.
 */
final class HighThroughputRouting {
    private final Routing sent;
    private final int topK;
    private int[] targetRows = {};
    private final int[] firstRows;
    private int received;
    private int[] sourceRanks = {};
    private int[] sourceTokens = {};
    private int[] localIds = {};
    private int[] expandedRows = {};
    private final int[] expertRows;
    private final long[] expertOffsets;

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

    Routing sent() {
        return sent;
    }

    /** Row on the target rank, for each of {@link Routing#targets}. */
    int[] targetRows() {
        return targetRows;
    }

    /** First row of each source on each target, {@code [R * R]}. */
    int[] firstRows() {
        return firstRows;
    }

    /** Number of rows that arrived, no padding. */
    int received() {
        return received;
    }

    /** Source rank of each row, {@code [received]}. */
    int[] sourceRanks() {
        return sourceRanks;
    }

    /** Token at the source of each row, {@code [received]}. */
    int[] sourceTokens() {
        return sourceTokens;
    }

    /** Local expert indices, {@code [received * K]}; -1 where not on this rank. */
    int[] localIds() {
        return localIds;
    }

    /** Rows in the by-expert layout, {@code [received * K]}; -1 where not on this rank; without meaning by rank. */
    int[] expandedRows() {
        return expandedRows;
    }

    /** Number of selections of each local expert, {@code [L]}. */
    int[] expertRows() {
        return expertRows;
    }

    /** First row of each group in the by-expert layout, {@code [L + 1]}. */
    long[] expertOffsets() {
        return expertOffsets;
    }
}
