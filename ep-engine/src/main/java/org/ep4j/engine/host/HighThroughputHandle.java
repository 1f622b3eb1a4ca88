package org.ep4j.engine.host;

import org.ep4j.DispatchHandle;
import org.ep4j.RowLayout;

/**
 * Routing of a high-throughput dispatch, as sender and as receiver.
 *
 * @param owner the buffer's high-throughput mode, by identity
 * @param number of the dispatch that made it; equal on all ranks
 * @param routing of this rank's tokens
 * @param targetRows row on the target rank, for each entry of {@code routing.targets()}
 * @param firstRows {@code [R * R]} first row of each source on each target
 * @param received rows that arrived, no padding
 * @param sourceRanks {@code [received]}
 * @param sourceTokens {@code [received]}
 * @param localIds {@code [received * K]} local expert indices, -1 where not on this rank
 * @param expandedRows {@code [received * K]} row in the by-expert layout, -1 where not on this rank; empty by rank
 * @param layout row order that the caller sees
 * @param rows that the caller sees, padding included
 * @param expertRows {@code [L]} selections of each local expert
 * @param expertOffsets {@code [L + 1]} first row of each group in the by-expert layout
 * @param alignment of expert groups
 * @param dropped rows for this rank for which it had no room
 */
@SuppressWarnings("ArrayRecordComponent") // loops over rows index these; equality is not asked of it
record HighThroughputHandle(
        HighThroughput owner,
        long number,
        Routing routing,
        int[] targetRows,
        int[] firstRows,
        int received,
        int[] sourceRanks,
        int[] sourceTokens,
        int[] localIds,
        int[] expandedRows,
        RowLayout layout,
        long rows,
        int[] expertRows,
        long[] expertOffsets,
        int alignment,
        long dropped)
        implements DispatchHandle {
    @Override
    public int tokens() {
        return routing.tokens();
    }

    boolean byExpert() {
        return layout == RowLayout.BY_EXPERT;
    }
}
