package org.ep4j.cli.soak;

import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.ep4j.CombinePrecision;
import org.ep4j.DataType;
import org.ep4j.LowLatencyDispatchRequest.WireFormat;
import org.ep4j.RowLayout;
import org.ep4j.tck.oracle.Routing;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.oracle.Workloads;

/**
 * One exchange, drawn from the seed of a run alike on all ranks: the tokens of every rank, where they go, and the options of
 * dispatch and combine. What a rank may choose for itself (pauses, memory of its results) is drawn by rank.
 *
 * @param workload rows, ids and weights of all ranks
 * @param lowLatency mode
 * @param holdMillis pause of each rank between dispatch and combine
 * @param slowMillis pause of each rank before
 * @param high options of high throughput
 * @param low options of low latency
 */
record ExchangePlan(
        Workload workload, boolean lowLatency, List<Integer> holdMillis, List<Integer> slowMillis, High high, Low low) {
    private static final int MOST_BIASES = 2;
    private static final List<WireFormat> FORMATS = List.of(WireFormat.values());

    /** Where expert outputs are put for a combine. */
    enum OutputPlace {
        /** The rows of the dispatch, as they came. */
        DISPATCHED_ROWS,
        /** Memory of the buffer that peers read in place, or send from. */
        COMBINE_INPUT,
        /** Memory of the caller. */
        OWN
    }

    /**
     * Options of high throughput.
     *
     * @param layout order of rows
     * @param alignment of experts
     * @param zeroPadding whether padding is zeroed
     * @param exactCounts false for results of worst-case size
     * @param rows type of the rows
     * @param ids type of the ids
     * @param weights whether weights travel
     * @param precision of the combine
     * @param biases of the combine
     * @param cached whether the routing is used again with other rows
     * @param out whether results are put where the caller says
     * @param outputs place of the expert outputs
     * @param async whether operations run behind the caller's thread
     */
    record High(
            RowLayout layout,
            int alignment,
            boolean zeroPadding,
            boolean exactCounts,
            DataType rows,
            DataType ids,
            boolean weights,
            CombinePrecision precision,
            int biases,
            boolean cached,
            boolean out,
            OutputPlace outputs,
            boolean async) {
        static High draw(SplittableRandom random) {
            RowLayout layout = random.nextBoolean() ? RowLayout.BY_RANK : RowLayout.BY_EXPERT;
            boolean fp8 = oneIn(random, 4);
            boolean exactCounts = !oneIn(random, 4);
            boolean out = oneIn(random, 4);
            boolean rowsStay = layout == RowLayout.BY_RANK && !fp8 && exactCounts;
            int place = random.nextInt(4);
            OutputPlace outputs = place < 2 && rowsStay
                    ? OutputPlace.DISPATCHED_ROWS
                    : place == 2 && layout == RowLayout.BY_RANK ? OutputPlace.COMBINE_INPUT : OutputPlace.OWN;
            return new High(
                    layout,
                    1 << random.nextInt(5),
                    random.nextBoolean(),
                    exactCounts,
                    fp8 ? DataType.FP8_E4M3 : DataType.BF16,
                    oneIn(random, 3) ? DataType.INT64 : DataType.INT32,
                    !oneIn(random, 5),
                    random.nextBoolean() ? CombinePrecision.EXACT : CombinePrecision.RANK_PARTIAL,
                    random.nextInt(MOST_BIASES + 1),
                    oneIn(random, 4),
                    out,
                    outputs,
                    oneIn(random, 5));
        }
    }

    /**
     * Options of low latency.
     *
     * @param format what travels in the dispatch
     * @param ids type of the ids
     * @param precision of the combine
     * @param logFmt whether rows come back in LogFMT
     * @param hook whether receiving is a call of its own
     * @param out whether results are put where the caller says
     * @param outputs place of the expert outputs
     * @param async whether operations run behind the caller's thread
     */
    record Low(
            WireFormat format,
            DataType ids,
            CombinePrecision precision,
            boolean logFmt,
            boolean hook,
            boolean out,
            OutputPlace outputs,
            boolean async) {
        static Low draw(SplittableRandom random) {
            boolean hook = oneIn(random, 3);
            return new Low(
                    FORMATS.get(random.nextInt(FORMATS.size())),
                    oneIn(random, 3) ? DataType.INT64 : DataType.INT32,
                    random.nextBoolean() ? CombinePrecision.EXACT : CombinePrecision.RANK_PARTIAL,
                    oneIn(random, 4),
                    hook,
                    oneIn(random, 4),
                    random.nextBoolean() ? OutputPlace.COMBINE_INPUT : OutputPlace.OWN,
                    !hook && oneIn(random, 5));
        }
    }

    /** Exchange {@code index} of a run. */
    static ExchangePlan draw(Order.Run run, int index, ShapeSpec shape, int ranks) {
        SplittableRandom random = new SplittableRandom(run.seed() * 31 + index);
        boolean lowLatency = random.nextInt(5) < 2;
        boolean duplicated = oneIn(random, 3);
        // An expert has room for one selection of each token.
        int ofLowLatency = shape.maxLowLatencyTokens() / (duplicated ? shape.topK() : 1);
        int most = lowLatency ? ofLowLatency : shape.maxTokens();
        boolean full = random.nextBoolean();
        int[] tokens =
                IntStream.range(0, ranks).map(r -> tokens(random, most, full)).toArray();
        Workload workload = Workloads.of(ranks, shape.hidden(), shape.experts(), shape.topK())
                .tokens(tokens)
                .seed(random.nextLong())
                .routing(routing(random, ranks, shape.experts()))
                .dropped(oneIn(random, 3) ? 0.3 : 0)
                .duplicated(duplicated ? 0.3 : 0)
                .placement(shape.placement(ranks))
                .build();
        return new ExchangePlan(
                workload,
                lowLatency,
                pauses(random, ranks, run.holdMillis()),
                pauses(random, ranks, run.slowMillis()),
                High.draw(random),
                Low.draw(random));
    }

    private static int tokens(SplittableRandom random, int most, boolean full) {
        int kind = random.nextInt(8);
        return full ? most : kind == 0 ? 0 : random.nextInt(most + 1);
    }

    private static Routing routing(SplittableRandom random, int ranks, int experts) {
        return switch (random.nextInt(8)) {
            case 0 -> Routing.zipf(0.8);
            case 1 -> Routing.zipf(1.6);
            case 2 -> new Routing("to-rank", random.nextInt(ranks), 0);
            case 3 -> new Routing("to-expert", random.nextInt(experts), 0);
            case 4 -> new Routing("local", 0, 0);
            default -> Routing.UNIFORM;
        };
    }

    /** Half of the pauses are as long as they may be, so that faults hit ranks between two operations, too. */
    private static List<Integer> pauses(SplittableRandom random, int ranks, int longest) {
        boolean whole = random.nextBoolean();
        return IntStream.range(0, ranks)
                .map(r -> {
                    int drawn = random.nextInt(longest + 1);
                    return whole ? longest : drawn;
                })
                .boxed()
                .toList();
    }

    private static boolean oneIn(SplittableRandom random, int n) {
        return random.nextInt(n) == 0;
    }
}
