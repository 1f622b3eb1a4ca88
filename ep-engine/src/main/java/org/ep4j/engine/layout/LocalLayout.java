package org.ep4j.engine.layout;

import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;

/**
 * Offsets of the results of one rank in its own memory, in bytes from the start of three allocations: high throughput, and
 * the two low-latency banks. Immutable.
 */
@SuppressWarnings("EnumOrdinal") // looked up for every row; the enums are used for nothing else
public final class LocalLayout {
    private static final int LINE = 256;

    /** High-throughput regions; a region's index is its ordinal. */
    public enum HighThroughput {
        /** {@code [rows, K]} ids, up to 64 bits each. */
        TOPK_IDS,
        /** {@code [rows, K]} or {@code [rows]} weights. */
        TOPK_WEIGHTS,
        /** {@code [rows, S]} scales. */
        SCALES,
        /** {@code [rows]}. */
        SOURCE_RANKS,
        /** {@code [rows]}. */
        SOURCE_TOKENS,
        /** By-expert rows. */
        EXPANDED,
        /** Scales of by-expert rows. */
        EXPANDED_SCALES,
        /** {@code [R]}. */
        ROWS_PER_SOURCE,
        /** {@code [L]}. */
        ROWS_PER_EXPERT,
        /** {@code [L + 1]}. */
        EXPERT_OFFSETS,
        /** {@code [T, H]}. */
        COMBINED,
        /** {@code [T, K]}. */
        COMBINED_WEIGHTS
    }

    /** Low-latency regions of a bank. */
    public enum LowLatency {
        /** {@code [L, rows, H]}. */
        ROWS,
        /** {@code [L, rows, S]}. */
        SCALES,
        /** {@code [L, rows]}. */
        SOURCE_TOKENS,
        /** {@code [L]}. */
        COUNTS,
        /** {@code [L, R]}. */
        RANGES,
        /** {@code [L, rows, H]}. */
        COMBINE_INPUT,
        /** {@code [T, H]}. */
        COMBINED
    }

    private final long[] highThroughput = new long[HighThroughput.values().length + 1];
    private final long[] lowLatency = new long[LowLatency.values().length + 1];

    public LocalLayout(EpShape shape, ExpertPlacement placement, int rank) {
        int ranks = placement.ranks();
        int localExperts = placement.localExperts(rank);
        long receiveCapacity = ShapeSizes.receivedRows(shape, ranks);
        long expandedCapacity = expandedCapacity(shape, ranks, localExperts, EpShape.MAX_EXPERT_ALIGNMENT);
        long lowLatencyRows = ShapeSizes.lowLatencyRows(shape, ranks);
        long most = Math.max(receiveCapacity, expandedCapacity);
        long rowBytes = 2L * shape.hidden();
        if (shape.maxTokens() > 0) {
            fill(
                    highThroughput,
                    receiveCapacity * shape.topK() * 8,
                    Math.max(receiveCapacity * shape.topK(), expandedCapacity) * 4,
                    receiveCapacity * shape.scales() * 4,
                    most * 4,
                    most * 4,
                    expandedCapacity * rowBytes,
                    expandedCapacity * shape.scales() * 4,
                    ranks * 4L,
                    localExperts * 4L,
                    (localExperts + 1) * 8L,
                    shape.maxTokens() * rowBytes,
                    shape.maxTokens() * 4L * shape.topK());
        }
        if (shape.maxLowLatencyTokens() > 0) {
            long rows = localExperts * lowLatencyRows;
            fill(
                    lowLatency,
                    rows * rowBytes,
                    rows * shape.scales() * 4,
                    rows * 4,
                    localExperts * 4L,
                    localExperts * 8L * ranks,
                    rows * rowBytes,
                    shape.maxLowLatencyTokens() * rowBytes);
        }
    }

    private static void fill(long[] offsets, long... sizes) {
        for (int i = 0; i < sizes.length; i++) {
            offsets[i + 1] = offsets[i] + (sizes[i] + LINE - 1) / LINE * LINE;
        }
    }

    /**
     * Most rows of the by-expert layout. A token may name an expert more than once, so K bounds its rows on a rank.
     *
     * @param alignment of each expert's group
     */
    public static long expandedCapacity(EpShape shape, int ranks, int localExperts, int alignment) {
        return localExperts == 0
                ? 0
                : ShapeSizes.receivedRows(shape, ranks) * shape.topK() + (long) localExperts * (alignment - 1);
    }

    public long offset(HighThroughput region) {
        return highThroughput[region.ordinal()];
    }

    public long offset(LowLatency region) {
        return lowLatency[region.ordinal()];
    }

    public long highThroughputBytes() {
        return highThroughput[highThroughput.length - 1];
    }

    /** Size of the allocation of one low-latency bank; there are two. */
    public long lowLatencyBytes() {
        return lowLatency[lowLatency.length - 1];
    }

    public long bytes() {
        return highThroughputBytes() + 2 * lowLatencyBytes();
    }
}
