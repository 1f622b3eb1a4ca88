package org.ep4j.tck.oracle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.ToIntFunction;
import org.ep4j.RowLayout;

/**
 * The expected result of a high-throughput dispatch on one rank. Arrays have one element for each row, padding included.
 *
 * @param workload the inputs
 * @param rank the receiver
 * @param layout order of the rows
 * @param sourceRank rank of the token, -1 in padding
 * @param sourceToken index of the token there, -1 in padding
 * @param place by-expert layout: place of the selection in the top-k list; -1 in padding and in the by-rank layout
 * @param rowsPerSource {@code [R]} rows of each source rank, no padding
 * @param rowsPerExpert {@code [L]} selections of each local expert
 * @param alignedPerExpert {@code [L]} the same, rounded up to the alignment
 * @param expertOffsets {@code [L + 1]} first row of each expert in the by-expert layout, and the end
 */
@SuppressWarnings("ArrayRecordComponent") // read in loops, never compared
public record RowTable(
        Workload workload,
        int rank,
        RowLayout layout,
        int[] sourceRank,
        int[] sourceToken,
        int[] place,
        int[] rowsPerSource,
        int[] rowsPerExpert,
        int[] alignedPerExpert,
        long[] expertOffsets) {
    private static final Selection PADDING = new Selection(-1, -1, -1);

    /** A row: the rank and index of its token, and the place of the selection in the token's top-k list. */
    record Selection(int rank, int token, int place) {}

    /**
     * Computes the table.
     *
     * @param alignment multiple to which each expert's rows are rounded up
     * @param masked ranks that neither send nor receive
     */
    public static RowTable of(Workload workload, int rank, RowLayout layout, int alignment, Set<Integer> masked) {
        List<Selection> rows = new ArrayList<>();
        int[] perSource = new int[workload.ranks()];
        int[] experts = workload.expertsOf(rank);
        int[] perExpert = new int[experts.length];
        int[] aligned = new int[experts.length];
        long[] offsets = new long[experts.length + 1];
        for (int e = 0; e < experts.length; e++) {
            List<Selection> ofExpert = selectionsOf(workload, experts[e], masked);
            perExpert[e] = ofExpert.size();
            aligned[e] = (ofExpert.size() + alignment - 1) / alignment * alignment;
            offsets[e + 1] = offsets[e] + aligned[e];
            if (layout == RowLayout.BY_EXPERT) {
                rows.addAll(ofExpert);
                rows.addAll(Collections.nCopies(aligned[e] - ofExpert.size(), PADDING));
            }
        }
        if (layout == RowLayout.BY_RANK) {
            tokensOn(workload, rank, masked, rows);
        }
        rows.stream().filter(row -> row.rank() >= 0).forEach(row -> perSource[row.rank()]++);
        return new RowTable(
                workload,
                rank,
                layout,
                column(rows, Selection::rank),
                column(rows, Selection::token),
                column(rows, Selection::place),
                perSource,
                perExpert,
                aligned,
                offsets);
    }

    /** Returns the number of rows, padding included. */
    public int rows() {
        return sourceRank.length;
    }

    /** Returns the key for {@link OutputRows} of a row that is not padding. */
    public int key(int row) {
        return layout == RowLayout.BY_RANK ? rank : place[row];
    }

    /** Returns the local expert of selection {@code k} of a by-rank row, or -1 when it is not on this rank. */
    public int localId(int row, int k) {
        if (sourceRank[row] < 0) {
            return -1;
        }
        int expert = workload.expert(sourceRank[row], sourceToken[row], k);
        return expert >= 0 && workload.rankOf(expert) == rank ? workload.localIndex(expert) : -1;
    }

    /** Returns the rows of one expert, in order: source rank, source token, place. */
    static List<Selection> selectionsOf(Workload workload, int expert, Set<Integer> masked) {
        List<Selection> rows = new ArrayList<>();
        for (int source = 0; source < workload.ranks(); source++) {
            for (int token = 0; token < (masked.contains(source) ? 0 : workload.tokens(source)); token++) {
                for (int k = 0; k < workload.topK(); k++) {
                    if (workload.expert(source, token, k) == expert) {
                        rows.add(new Selection(source, token, k));
                    }
                }
            }
        }
        return rows;
    }

    static int[] column(List<Selection> rows, ToIntFunction<Selection> value) {
        return rows.stream().mapToInt(value).toArray();
    }

    private static void tokensOn(Workload workload, int rank, Set<Integer> masked, List<Selection> rows) {
        for (int source = 0; source < workload.ranks(); source++) {
            for (int token = 0; token < (masked.contains(source) ? 0 : workload.tokens(source)); token++) {
                if (workload.selections(source, token).anyMatch(expert -> workload.rankOf(expert) == rank)) {
                    rows.add(new Selection(source, token, -1));
                }
            }
        }
    }
}
