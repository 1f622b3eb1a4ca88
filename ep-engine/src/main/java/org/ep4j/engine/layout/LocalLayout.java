package org.ep4j.engine.layout;

import java.util.EnumMap;
import java.util.Map;
import org.ep4j.BufferPart;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.RowLayout;

/**
 * Where the results of one rank lie in its own memory, in bytes from the start of three ranges: high throughput, and the two
 * low-latency banks. GPUs allocate region by region. Immutable.
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

    /** The layout of {@code rank}'s results. */
    public LocalLayout(EpShape shape, ExpertPlacement placement, int rank) {
        int ranks = placement.ranks();
        int localExperts = placement.localExperts(rank);
        long receiveCapacity = shape.receiveCapacity(ranks);
        long expandedCapacity = expandedCapacity(shape, ranks, localExperts, EpShape.MAX_EXPERT_ALIGNMENT);
        long lowLatencyRows = shape.lowLatencyRows(ranks);
        long most = Math.max(receiveCapacity, expandedCapacity);
        long rowBytes = 2L * shape.hidden();
        if (shape.maxTokens() > 0) {
            fill(
                    highThroughput,
                    receiveCapacity * shape.topK() * 8,
                    Math.max(receiveCapacity * shape.topK(), expandedCapacity) * 4,
                    ScaleGrid.padded(receiveCapacity) * shape.scales() * 4,
                    most * 4,
                    most * 4,
                    expandedCapacity * rowBytes,
                    ScaleGrid.padded(expandedCapacity) * shape.scales() * 4,
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
                    localExperts * ScaleGrid.padded(lowLatencyRows) * shape.scales() * 4,
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
        return localExperts == 0 || !shape.layouts().contains(RowLayout.BY_EXPERT)
                ? 0
                : shape.receiveCapacity(ranks) * shape.topK() + (long) localExperts * (alignment - 1);
    }

    /** Start of a region in the high-throughput allocation. */
    public long offset(HighThroughput region) {
        return highThroughput[region.ordinal()];
    }

    /** Start of a region in a low-latency bank's allocation. */
    public long offset(LowLatency region) {
        return lowLatency[region.ordinal()];
    }

    /** Bytes of a region. */
    public long bytes(HighThroughput region) {
        return highThroughput[region.ordinal() + 1] - highThroughput[region.ordinal()];
    }

    /** Bytes of a region of one low-latency bank. */
    public long bytes(LowLatency region) {
        return lowLatency[region.ordinal() + 1] - lowLatency[region.ordinal()];
    }

    /** Bytes of the parts that users know. */
    public Map<BufferPart, Long> parts() {
        Map<BufferPart, Long> parts = new EnumMap<>(BufferPart.class);
        for (HighThroughput region : HighThroughput.values()) {
            parts.merge(part(region), bytes(region), Long::sum);
        }
        for (LowLatency region : LowLatency.values()) {
            parts.merge(part(region), 2 * bytes(region), Long::sum);
        }
        return parts;
    }

    private static BufferPart part(HighThroughput region) {
        return switch (region) {
            case EXPANDED, EXPANDED_SCALES -> BufferPart.BY_EXPERT;
            case COMBINED, COMBINED_WEIGHTS -> BufferPart.COMBINED;
            default -> BufferPart.DISPATCHED;
        };
    }

    private static BufferPart part(LowLatency region) {
        return switch (region) {
            case COMBINE_INPUT -> BufferPart.LOW_LATENCY_INPUT;
            case COMBINED -> BufferPart.LOW_LATENCY_COMBINED;
            default -> BufferPart.LOW_LATENCY_DISPATCHED;
        };
    }

    /** Size of the high-throughput allocation. */
    public long highThroughputBytes() {
        return highThroughput[highThroughput.length - 1];
    }

    /** Size of the allocation of one low-latency bank; there are two. */
    public long lowLatencyBytes() {
        return lowLatency[lowLatency.length - 1];
    }
}
