package org.ep4j.cli.rank;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import org.ep4j.RowLayout;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.Workload;

/** The work of operations on rows of one rank in one round, in the steps that ep4j's operations have. */
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
    RowSteps(ExchangeSpec spec, RowTable received) {
        this.received = received;
        workload = received.workload();
        rank = received.rank();
        hidden = spec.hidden();
        rowBytes = spec.rowBytes();
    }

    /** Counts for each token of this rank; {@code count} gets the rank of each of its selections. */
    private int[] forTokens(ToLongFunction<IntStream> count) {
        return IntStream.range(0, workload.tokens(rank))
                .mapToLong(token ->
                        count.applyAsLong(workload.selections(rank, token).map(workload::rankOf)))
                .mapToInt(Math::toIntExact)
                .toArray();
    }

    private int[] ranksOfTokens() {
        return forTokens(ranks -> ranks.distinct().count());
    }

    private int expertsOfRow(int row) {
        return (int) workload.selections(received.sourceRank()[row], received.sourceToken()[row])
                .filter(expert -> workload.rankOf(expert) == rank)
                .count();
    }

    private RowStep expand(Wire wire) {
        return RowStep.copies(
                "expand",
                IntStream.range(0, received.rows()).map(this::expertsOfRow).toArray(),
                dispatchedBytes(wire));
    }

    private long dispatchedBytes(Wire wire) {
        return wire == Wire.FP8 ? hidden : rowBytes;
    }

    /** A row for each rank of a token; in the layout by expert, then a row for each expert. */
    List<RowStep> dispatch(RowLayout layout, Wire wire) {
        RowStep rows = RowStep.copies("send", ranksOfTokens(), dispatchedBytes(wire));
        return layout == RowLayout.BY_RANK ? List.of(rows) : List.of(rows, expand(wire));
    }

    /** A sum of the rows of each token, where they lie. */
    List<RowStep> combine() {
        return List.of(RowStep.sums(ranksOfTokens(), false, rowBytes));
    }

    /** Rows of other ranks' tokens are copied to where those ranks read them. */
    List<RowStep> stagedCombine() {
        int foreign = received.rows() - received.rowsPerSource()[rank];
        return List.of(RowStep.copies("stage", foreign, rowBytes), RowStep.sums(ranksOfTokens(), false, rowBytes));
    }

    /** Selections of other ranks' tokens are copied to those ranks, which add them up, in low latency with their weights. */
    List<RowStep> combineOfSelections(boolean weighted) {
        int foreign = IntStream.range(0, received.rows())
                .filter(row -> received.sourceRank()[row] != rank)
                .map(this::expertsOfRow)
                .sum();
        return List.of(
                RowStep.copies("send", foreign, rowBytes),
                RowStep.sums(forTokens(IntStream::count), weighted, rowBytes));
    }

    /** A row for each rank of a token, then one for each expert. This rank's own BF16 rows are read where they lie. */
    List<RowStep> lowLatencyDispatch(Wire wire) {
        if (wire == Wire.BF16) {
            int[] others = forTokens(
                    ranks -> ranks.filter(owner -> owner != rank).distinct().count());
            return List.of(RowStep.copies("send", others, rowBytes), expand(wire));
        }
        // The cast writes the row of one rank, which is copied for the others.
        int[] copies = Arrays.stream(ranksOfTokens())
                .filter(ranks -> ranks > 0)
                .map(ranks -> ranks - 1)
                .toArray();
        return List.of(RowStep.casts(copies.length, hidden), RowStep.copies("send", copies, hidden), expand(wire));
    }
}
