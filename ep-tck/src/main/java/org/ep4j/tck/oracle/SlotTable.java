package org.ep4j.tck.oracle;

import java.util.List;
import java.util.Set;
import org.ep4j.EpShape;
import org.ep4j.tck.oracle.RowTable.Selection;

/**
 * The expected result of a low-latency dispatch on one rank. The first index of every array is the local expert.
 *
 * @param workload the inputs
 * @param sourceRank {@code [L][count]} rank of each row's token
 * @param sourceToken {@code [L][count]} index of the token there
 * @param place {@code [L][count]} place of the selection in the token's top-k list
 * @param ranges {@code [L][R]} rows of each source rank: count in the low, first row in the high 32 bits
 */
@SuppressWarnings("ArrayRecordComponent") // read in loops, never compared
public record SlotTable(Workload workload, int[][] sourceRank, int[][] sourceToken, int[][] place, long[][] ranges) {

    /**
     * Computes the table.
     *
     * @param masked ranks that neither send nor receive
     */
    public static SlotTable of(Workload workload, int rank, Set<Integer> masked) {
        int[] experts = workload.expertsOf(rank);
        int[][] sourceRank = new int[experts.length][];
        int[][] sourceToken = new int[experts.length][];
        int[][] place = new int[experts.length][];
        long[][] ranges = new long[experts.length][workload.ranks()];
        for (int e = 0; e < experts.length; e++) {
            List<Selection> rows = RowTable.selectionsOf(workload, experts[e], masked);
            sourceRank[e] = RowTable.column(rows, Selection::rank);
            sourceToken[e] = RowTable.column(rows, Selection::token);
            place[e] = RowTable.column(rows, Selection::place);
            long first = 0;
            for (int source = 0; source < workload.ranks(); source++) {
                long count = 0;
                for (int from : sourceRank[e]) {
                    count += from == source ? 1 : 0;
                }
                ranges[e][source] = first << 32 | count;
                first += count;
            }
        }
        return new SlotTable(workload, sourceRank, sourceToken, place, ranges);
    }

    /** Returns L. */
    public int localExperts() {
        return sourceRank.length;
    }

    /** Returns the rows of each local expert in the output, used or not: R times the most tokens. */
    public long capacity(EpShape shape) {
        return (long) workload.ranks() * shape.maxLowLatencyTokens();
    }

    /** Returns the number of rows of a local expert. */
    public int count(int localExpert) {
        return sourceRank[localExpert].length;
    }
}
