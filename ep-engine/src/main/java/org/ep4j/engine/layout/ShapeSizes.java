package org.ep4j.engine.layout;

import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.RowLayout;

/** Sizes that follow from a shape and the number of ranks. */
public final class ShapeSizes {
    private ShapeSizes() {}

    /**
     * Assignment of experts to ranks.
     *
     * @throws EpArgumentException when a placement was given for another number of ranks
     */
    public static ExpertPlacement placement(EpShape shape, int ranks) {
        ExpertPlacement used = shape.placement().orElseGet(() -> ExpertPlacement.block(shape.experts(), ranks));
        if (used.ranks() != ranks) {
            throw new EpArgumentException(
                    "placement", used.ranks() + " ranks", ranks + " ranks", "build the placement for the group's size");
        }
        return used;
    }

    /** Most rows of the by-rank layout that a rank can receive in a high-throughput dispatch. */
    public static long receivedRows(EpShape shape, int ranks) {
        long worst = (long) ranks * shape.maxTokens();
        return shape.maxReceivedRows() == 0 ? worst : Math.min(worst, shape.maxReceivedRows());
    }

    /**
     * Most rows that a high-throughput dispatch can deliver to a rank.
     *
     * @param localExperts of the rank
     * @param alignment of each expert's group in the by-expert layout
     */
    public static long maxRows(EpShape shape, int ranks, int localExperts, RowLayout layout, int alignment) {
        return layout == RowLayout.BY_EXPERT
                ? LocalLayout.expandedCapacity(shape, ranks, localExperts, alignment)
                : receivedRows(shape, ranks);
    }

    /** Rows of one expert in the low-latency output. */
    public static long lowLatencyRows(EpShape shape, int ranks) {
        return (long) ranks * shape.maxLowLatencyTokens();
    }
}
