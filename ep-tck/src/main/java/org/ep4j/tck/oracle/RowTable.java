package org.ep4j.tck.oracle;

import java.util.Arrays;
import java.util.Set;
import org.ep4j.RowLayout;

/**
 * What a high-throughput dispatch must deliver on one rank. Arrays have one element a row, padding included.
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
@SuppressWarnings("ArrayRecordComponent") // read in loops; equality is not asked of it
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

    /**
     * Computes the table.
     *
     * @param alignment what each expert's rows are rounded up to
     * @param masked ranks that neither send nor receive
     */
    public static RowTable of(Workload workload, int rank, RowLayout layout, int alignment, Set<Integer> masked) {
        Collector rows = new Collector();
        int[] perSource = new int[workload.ranks()];
        int[] experts = workload.expertsOf(rank);
        int[] perExpert = new int[experts.length];
        int[] aligned = new int[experts.length];
        long[] offsets = new long[experts.length + 1];
        for (int e = 0; e < experts.length; e++) {
            Collector ofExpert = new Collector();
            selectionsOf(workload, experts[e], masked, ofExpert);
            perExpert[e] = ofExpert.size();
            aligned[e] = (ofExpert.size() + alignment - 1) / alignment * alignment;
            offsets[e + 1] = offsets[e] + aligned[e];
            if (layout == RowLayout.BY_EXPERT) {
                ofExpert.pad(aligned[e]);
                rows.addAll(ofExpert);
            }
        }
        if (layout == RowLayout.BY_RANK) {
            tokensOn(workload, rank, masked, rows);
        }
        for (int source : rows.ranks()) {
            if (source >= 0) {
                perSource[source]++;
            }
        }
        return new RowTable(
                workload,
                rank,
                layout,
                rows.ranks(),
                rows.tokens(),
                rows.places(),
                perSource,
                perExpert,
                aligned,
                offsets);
    }

    /** Rows, padding included. */
    public int rows() {
        return sourceRank.length;
    }

    /** What {@link OutputRows} calls the key of a row that is not padding. */
    public int key(int row) {
        return layout == RowLayout.BY_RANK ? rank : place[row];
    }

    /** Local expert of selection {@code k} of a by-rank row, or -1 when it is not on this rank. */
    public int localId(int row, int k) {
        if (sourceRank[row] < 0) {
            return -1;
        }
        int expert = workload.expert(sourceRank[row], sourceToken[row], k);
        return expert >= 0 && workload.rankOf(expert) == rank ? workload.localIndex(expert) : -1;
    }

    /** Rows of one expert, in order: source rank, source token, place. */
    static void selectionsOf(Workload workload, int expert, Set<Integer> masked, Collector rows) {
        for (int source = 0; source < workload.ranks(); source++) {
            for (int token = 0; token < (masked.contains(source) ? 0 : workload.tokens(source)); token++) {
                for (int k = 0; k < workload.topK(); k++) {
                    if (workload.expert(source, token, k) == expert) {
                        rows.add(source, token, k);
                    }
                }
            }
        }
    }

    private static void tokensOn(Workload workload, int rank, Set<Integer> masked, Collector rows) {
        for (int source = 0; source < workload.ranks(); source++) {
            for (int token = 0; token < (masked.contains(source) ? 0 : workload.tokens(source)); token++) {
                if (onRank(workload, source, token, rank)) {
                    rows.add(source, token, -1);
                }
            }
        }
    }

    /** True when a token has an expert on {@code rank}. */
    static boolean onRank(Workload workload, int source, int token, int rank) {
        for (int k = 0; k < workload.topK(); k++) {
            int expert = workload.expert(source, token, k);
            if (expert >= 0 && workload.rankOf(expert) == rank) {
                return true;
            }
        }
        return false;
    }

    /** Grows three arrays together. */
    static final class Collector {
        private int[] rank = new int[16];
        private int[] token = new int[16];
        private int[] place = new int[16];
        private int size;

        void add(int sourceRank, int sourceToken, int sourcePlace) {
            if (size == rank.length) {
                rank = Arrays.copyOf(rank, size * 2);
                token = Arrays.copyOf(token, size * 2);
                place = Arrays.copyOf(place, size * 2);
            }
            rank[size] = sourceRank;
            token[size] = sourceToken;
            place[size++] = sourcePlace;
        }

        void addAll(Collector other) {
            for (int i = 0; i < other.size; i++) {
                add(other.rank[i], other.token[i], other.place[i]);
            }
        }

        void pad(int rows) {
            while (size < rows) {
                add(-1, -1, -1);
            }
        }

        int size() {
            return size;
        }

        int[] ranks() {
            return Arrays.copyOf(rank, size);
        }

        int[] tokens() {
            return Arrays.copyOf(token, size);
        }

        int[] places() {
            return Arrays.copyOf(place, size);
        }
    }
}
