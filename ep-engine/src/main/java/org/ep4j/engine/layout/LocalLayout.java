package org.ep4j.engine.layout;

import java.util.Arrays;
import java.util.List;
import org.ep4j.BufferSize;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.RowLayout;

/**
 * Offsets of the results of one rank in its own memory. The regions of a mode (low latency: of a bank) lie one after the other, so
 * that one allocation can have them all; regions of a {@link Part} are neighbours, so that each part can have an allocation of its own.
 * Immutable.
 */
@SuppressWarnings("EnumOrdinal") // looked up for every row; the enums are used for nothing else
public final class LocalLayout {
    private static final int LINE = 256;

    /** Regions that are taken together when one of them is needed first. */
    public enum Part {
        /** What every high-throughput operation has. */
        RECORDS(
                "high throughput: sources, ids, weights and counts",
                "pass tensors for all of these (outSourceRanks() and so on), or lower maxTokens or maxReceivedRows"),
        /** Scales of by-rank rows. */
        SCALES(
                "high throughput: scales of FP8 rows by rank without outScales",
                "pass outScales() to the dispatch, or lower maxReceivedRows"),
        /** By-expert rows. */
        EXPANDED(
                "high throughput: rows by expert without out",
                "pass out() to the dispatch, use the by-rank layout, or lower maxReceivedRows"),
        /** Scales of by-expert rows. */
        EXPANDED_SCALES(
                "high throughput: scales of FP8 rows by expert without outScales",
                "pass outScales() to the dispatch, use the by-rank layout, or lower maxReceivedRows"),
        /** Sums of a combine. */
        COMBINED("high throughput: combined rows without out", "pass out() to the combine, or lower maxTokens"),
        /** What every low-latency dispatch has. */
        LL_RECORDS(
                "low latency: sources and counts",
                "pass outSourceTokens(), outRowsPerExpert() and outLayoutRanges() to the dispatch, or lower"
                        + " maxLowLatencyTokens"),
        /** Packed rows. */
        LL_ROWS("low latency: rows without out", "pass out() to the dispatch, or lower maxLowLatencyTokens"),
        /** Scales of packed rows. */
        LL_SCALES(
                "low latency: scales of FP8 rows without outScales",
                "pass outScales() to the dispatch, or lower maxLowLatencyTokens"),
        /** Rows for a combine. */
        LL_COMBINE_INPUT(
                "low latency: nextLowLatencyCombineInput()",
                "pass the rows of the dispatch or your own tensor to the combine, or lower maxLowLatencyTokens"),
        /** Sums of a combine. */
        LL_COMBINED(
                "low latency: combined rows without out", "pass out() to the combine, or lower maxLowLatencyTokens");

        private final String use;
        private final String remedy;

        Part(String use, String remedy) {
            this.use = use;
            this.remedy = remedy;
        }

        /** Results that lie in the part, in words for people. */
        public String use() {
            return use;
        }

        /** Action that makes the memory smaller, or not needed. */
        public String remedy() {
            return remedy;
        }
    }

    /** High-throughput regions; a region's index is its ordinal. */
    public enum HighThroughput {
        /** {@code [rows, K]} ids, up to 64 bits each. */
        TOPK_IDS(Part.RECORDS),
        /** {@code [rows, K]} or {@code [rows]} weights. */
        TOPK_WEIGHTS(Part.RECORDS),
        /** {@code [rows]}. */
        SOURCE_RANKS(Part.RECORDS),
        /** {@code [rows]}. */
        SOURCE_TOKENS(Part.RECORDS),
        /** {@code [R]}. */
        ROWS_PER_SOURCE(Part.RECORDS),
        /** {@code [L]}. */
        ROWS_PER_EXPERT(Part.RECORDS),
        /** {@code [L + 1]}. */
        EXPERT_OFFSETS(Part.RECORDS),
        /** {@code [T, K]}. */
        COMBINED_WEIGHTS(Part.RECORDS),
        /** {@code [rows, S]} scales. */
        SCALES(Part.SCALES),
        /** By-expert rows. */
        EXPANDED(Part.EXPANDED),
        /** Scales of by-expert rows. */
        EXPANDED_SCALES(Part.EXPANDED_SCALES),
        /** {@code [T, H]}. */
        COMBINED(Part.COMBINED);

        private final Part part;

        HighThroughput(Part part) {
            this.part = part;
        }

        /** Part in which the region lies. */
        public Part part() {
            return part;
        }
    }

    /** Low-latency regions of a bank. */
    public enum LowLatency {
        /** {@code [L, rows]}. */
        SOURCE_TOKENS(Part.LL_RECORDS),
        /** {@code [L]}. */
        COUNTS(Part.LL_RECORDS),
        /** {@code [L, R]}. */
        RANGES(Part.LL_RECORDS),
        /** {@code [L, rows, H]}. */
        ROWS(Part.LL_ROWS),
        /** {@code [L, rows, S]}. */
        SCALES(Part.LL_SCALES),
        /** {@code [L, rows, H]}. */
        COMBINE_INPUT(Part.LL_COMBINE_INPUT),
        /** {@code [T, H]}. */
        COMBINED(Part.LL_COMBINED);

        private final Part part;

        LowLatency(Part part) {
            this.part = part;
        }

        /** Part in which the region lies. */
        public Part part() {
            return part;
        }
    }

    private final long[] highThroughput = new long[HighThroughput.values().length + 1];
    private final long[] lowLatency = new long[LowLatency.values().length + 1];
    /** Where each part begins, in the memory of its mode or bank. */
    private final long[] starts = new long[Part.values().length];

    private final long[] lengths = new long[Part.values().length];

    public LocalLayout(EpShape shape, ExpertPlacement placement, int rank) {
        int ranks = placement.ranks();
        int localExperts = placement.localExperts(rank);
        long receiveCapacity = ShapeSizes.receivedRows(shape, ranks);
        long expandedCapacity = shape.layouts().contains(RowLayout.BY_EXPERT)
                ? expandedCapacity(shape, ranks, localExperts, EpShape.MAX_EXPERT_ALIGNMENT)
                : 0;
        long rankScales = shape.layouts().contains(RowLayout.BY_RANK) ? receiveCapacity * shape.scales() : 0;
        long lowLatencyRows = ShapeSizes.lowLatencyRows(shape, ranks);
        long most = Math.max(receiveCapacity, expandedCapacity);
        long rowBytes = 2L * shape.hidden();
        if (shape.maxTokens() > 0) {
            fill(
                    highThroughput,
                    receiveCapacity * shape.topK() * 8,
                    Math.max(receiveCapacity * shape.topK(), expandedCapacity) * 4,
                    most * 4,
                    most * 4,
                    ranks * 4L,
                    localExperts * 4L,
                    (localExperts + 1) * 8L,
                    shape.maxTokens() * 4L * shape.topK(),
                    rankScales * 4,
                    expandedCapacity * rowBytes,
                    expandedCapacity * shape.scales() * 4,
                    shape.maxTokens() * rowBytes);
        }
        if (shape.maxLowLatencyTokens() > 0) {
            long rows = localExperts * lowLatencyRows;
            fill(
                    lowLatency,
                    rows * 4,
                    localExperts * 4L,
                    localExperts * 8L * ranks,
                    rows * rowBytes,
                    rows * shape.scales() * 4,
                    rows * rowBytes,
                    shape.maxLowLatencyTokens() * rowBytes);
        }
        for (HighThroughput region : HighThroughput.values()) {
            add(region.part(), highThroughput, region.ordinal());
        }
        for (LowLatency region : LowLatency.values()) {
            add(region.part(), lowLatency, region.ordinal());
        }
    }

    private void add(Part part, long[] offsets, int region) {
        if (lengths[part.ordinal()] == 0) {
            starts[part.ordinal()] = offsets[region];
        }
        lengths[part.ordinal()] += offsets[region + 1] - offsets[region];
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

    /** Offset in the memory of the mode. */
    public long offset(HighThroughput region) {
        return highThroughput[region.ordinal()];
    }

    /** Offset in the memory of a bank. */
    public long offset(LowLatency region) {
        return lowLatency[region.ordinal()];
    }

    /** Offset in the memory of the region's part. */
    public long offsetInPart(HighThroughput region) {
        return offset(region) - starts[region.part().ordinal()];
    }

    /** Offset in the memory of the region's part; bank {@code number & 1} of operation {@code number} is behind the other one. */
    public long offsetInPart(long number, LowLatency region) {
        int part = region.part().ordinal();
        return (number & 1) * lengths[part] + offset(region) - starts[part];
    }

    /** Bytes of a part; of both banks in low latency. */
    public long bytes(Part part) {
        return part.compareTo(Part.LL_RECORDS) < 0 ? lengths[part.ordinal()] : 2 * lengths[part.ordinal()];
    }

    /** Sizes of all parts that are not empty. */
    public List<BufferSize.Part> parts() {
        return Arrays.stream(Part.values())
                .filter(part -> bytes(part) > 0)
                .map(part -> BufferSize.Part.of(part.use(), bytes(part)))
                .toList();
    }

    public long highThroughputBytes() {
        return highThroughput[highThroughput.length - 1];
    }

    /** Size of the memory of one low-latency bank; there are two. */
    public long lowLatencyBytes() {
        return lowLatency[lowLatency.length - 1];
    }
}
