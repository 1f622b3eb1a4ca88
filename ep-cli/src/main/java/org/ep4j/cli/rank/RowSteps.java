package org.ep4j.cli.rank;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.ep4j.RowLayout;
import org.ep4j.cli.rank.RowStep.Casts;
import org.ep4j.cli.rank.RowStep.Copies;
import org.ep4j.cli.rank.RowStep.Sums;
import org.ep4j.cli.rank.WorkSpec.Wire;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.Workload;

/** What operations do with rows on one rank in one round, in the steps that ep4j's operations have. */
final class RowSteps {
    private final Workload workload;
    private final int rank;
    private final int hidden;
    private final long rowBytes;
    private final RowTable received;

    /**
     * Steps of the operations of a round.
     *
     * @param received rows that a dispatch brings to a rank, in the order by rank
     */
    RowSteps(WorkSpec spec, RowTable received) {
        this.received = received;
        workload = received.workload();
        rank = received.rank();
        hidden = spec.hidden();
        rowBytes = spec.rowBytes();
    }

    /** Number of ranks that each token of this rank goes to. */
    private int[] ranksOfTokens() {
        return IntStream.range(0, workload.tokens(rank))
                .map(token -> (int) workload.selections(rank, token)
                        .map(workload::rankOf)
                        .distinct()
                        .count())
                .toArray();
    }

    private int[] otherRanksOfTokens() {
        return IntStream.range(0, workload.tokens(rank))
                .map(token -> (int) workload.selections(rank, token)
                        .map(workload::rankOf)
                        .filter(owner -> owner != rank)
                        .distinct()
                        .count())
                .toArray();
    }

    /** Number of experts that each token of this rank goes to. */
    private int[] expertsOfTokens() {
        return IntStream.range(0, workload.tokens(rank))
                .map(token -> (int) workload.selections(rank, token).count())
                .toArray();
    }

    private int expertsOfRow(int row) {
        return (int) workload.selections(received.sourceRank()[row], received.sourceToken()[row])
                .filter(expert -> workload.rankOf(expert) == rank)
                .count();
    }

    /** Number of experts of this rank that each row goes to. */
    private int[] expertsOfRows() {
        return IntStream.range(0, received.rows()).map(this::expertsOfRow).toArray();
    }

    /** Rows that come from other ranks. */
    private int foreignRows() {
        return received.rows() - received.rowsPerSource()[rank];
    }

    private int foreignSelections() {
        return IntStream.range(0, received.rows())
                .filter(row -> received.sourceRank()[row] != rank)
                .map(this::expertsOfRow)
                .sum();
    }

    private long dispatchedBytes(Wire wire) {
        return wire == Wire.FP8 ? hidden : rowBytes;
    }

    /** A row for each rank of a token; in the layout by expert, then a row for each expert. */
    List<RowStep> dispatch(RowLayout layout, Wire wire) {
        Copies rows = new Copies("send", ranksOfTokens(), dispatchedBytes(wire));
        return layout == RowLayout.BY_RANK
                ? List.of(rows)
                : List.of(rows, new Copies("expand", expertsOfRows(), dispatchedBytes(wire)));
    }

    /** A sum of the rows of each token, where they lie. */
    List<RowStep> combine() {
        return List.of(new Sums(ranksOfTokens(), false, rowBytes));
    }

    /** Rows of other ranks' tokens are copied to where those ranks read them. */
    List<RowStep> stagedCombine() {
        return List.of(Copies.of("stage", foreignRows(), rowBytes), new Sums(ranksOfTokens(), false, rowBytes));
    }

    /** Selections of other ranks' tokens are copied to those ranks, which add them up. */
    List<RowStep> combineOfSelections() {
        return List.of(Copies.of("send", foreignSelections(), rowBytes), new Sums(expertsOfTokens(), false, rowBytes));
    }

    /** A row for each rank of a token, then one for each expert. This rank's own BF16 rows are read where they lie. */
    List<RowStep> lowLatencyDispatch(Wire wire) {
        Copies expanded = new Copies("expand", expertsOfRows(), dispatchedBytes(wire));
        if (wire == Wire.BF16) {
            return List.of(new Copies("send", otherRanksOfTokens(), rowBytes), expanded);
        }
        // The cast writes the row of one rank, which is copied for the others.
        int[] copies = Arrays.stream(ranksOfTokens())
                .filter(ranks -> ranks > 0)
                .map(ranks -> ranks - 1)
                .toArray();
        return List.of(new Casts(copies.length, hidden), new Copies("send", copies, hidden), expanded);
    }

    /** Selections of other ranks' tokens are copied to those ranks, which add them up with their weights. */
    List<RowStep> lowLatencyCombine() {
        return List.of(Copies.of("send", foreignSelections(), rowBytes), new Sums(expertsOfTokens(), true, rowBytes));
    }
}
