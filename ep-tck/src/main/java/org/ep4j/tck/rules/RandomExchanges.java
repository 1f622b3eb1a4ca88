package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.EpBuffer;
import org.ep4j.EpShape;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/**
 * Exchanges in both modes on one buffer: each draws tokens, routing, layout, format and options at random, the same on all ranks, and
 * compares every element with the oracle. As a scenario it runs {@code rounds} of them.
 */
public final class RandomExchanges implements Scenario {
    private static final int MOST_TOKENS = 24;
    private static final List<String> ROUTINGS =
            List.of("uniform", "zipf:0.8", "zipf:1.6", "to-rank:0", "to-expert:1", "local", "grouped:3:1");
    private static final List<String> FORMATS = List.of("BF16", "FP8", "FP8_POW2", "FP8_UE8M0");

    @Override
    public void run(RankContext context) {
        EpBuffer buffer = context.buffer(shape(context));
        long seed = context.params().number("seed", 1);
        for (int round = 0; round < context.params().number("rounds", 200); round++) {
            try {
                exchange(context, buffer, seed, round);
            } catch (RuntimeException e) {
                throw new AssertionError("round " + round + " of seed " + seed + ": " + e.getMessage(), e);
            }
        }
    }

    /** Returns the shape of a buffer for {@link #exchange}, from the parameters {@code hidden} and {@code topk} of the job. */
    public static EpShape shape(RankContext context) {
        return Setup.of(context, shapeText(context.params())).shape();
    }

    private static String shapeText(Params params) {
        return " hidden=" + params.number("hidden", 96) + " topk=" + params.number("topk", 5) + " extra=2 max="
                + MOST_TOKENS * params.number("topk", 5);
    }

    /**
     * Runs one exchange among the ranks that the buffer has not masked.
     *
     * @param buffer of {@link #shape}
     * @param seed the same on all ranks
     * @param index number of the exchange, the same on all ranks
     * @throws AssertionError if a result differs from the oracle's; it names the exchange
     * @throws org.ep4j.EpException as operations do
     */
    public static void exchange(RankContext context, EpBuffer buffer, long seed, int index) {
        SplittableRandom random = new SplittableRandom(seed * 1_000_003 + index);
        boolean high = random.nextBoolean();
        String drawn =
                workload(random, context.size()) + (high ? high(random) : low(random)) + shapeText(context.params());
        if (random.nextInt(4) == 0 && random.nextInt(context.size()) == context.rank()) {
            context.sleep(Duration.ofMillis(random.nextInt(4)));
        }
        try {
            if (high) {
                HighThroughputExchange.run(context, buffer, Params.parse(drawn));
            } else {
                LowLatencyExchange.run(context, buffer, Params.parse(drawn));
            }
        } catch (AssertionError e) {
            throw new AssertionError(
                    "exchange " + index + " of seed " + seed + " (" + (high ? "high throughput" : "low latency") + drawn
                            + "): " + e.getMessage(),
                    e);
        }
    }

    /** Runs one exchange of each kind, after which a process has allocated all that it allocates only once. */
    public static void warmUp(RankContext context, EpBuffer buffer) {
        String shape = shapeText(context.params());
        for (String kind : List.of("", " async")) {
            HighThroughputExchange.run(context, buffer, Params.parse(shape + kind));
            HighThroughputExchange.run(context, buffer, Params.parse(shape + kind + " layout=BY_EXPERT fp8 cached"));
            LowLatencyExchange.run(context, buffer, Params.parse(shape + kind + " format=FP8"));
        }
        LowLatencyExchange.run(context, buffer, Params.parse(shape + " hook"));
        LowLatencyExchange.run(context, buffer, Params.parse(shape + " async hook"));
    }

    private static String workload(SplittableRandom random, int ranks) {
        String tokens = IntStream.range(0, ranks)
                .mapToObj(r -> Integer.toString(random.nextInt(5) == 0 ? 0 : random.nextInt(MOST_TOKENS + 1)))
                .collect(Collectors.joining(","));
        return " tokens=" + tokens + " seed=" + random.nextInt(1 << 30) + " routing="
                + ROUTINGS.get(random.nextInt(ROUTINGS.size())) + " drop=" + (random.nextInt(3) == 0 ? 0.3 : 0)
                + " dup=" + (random.nextInt(3) == 0 ? 0.3 : 0);
    }

    private static String high(SplittableRandom random) {
        boolean expert = random.nextBoolean();
        return (expert ? " layout=BY_EXPERT pad" : "")
                + " align=" + (1 << random.nextInt(5))
                + flag(random, 4, " fp8")
                + flag(random, 3, " id64")
                + flag(random, 5, " noweights")
                + flag(random, 4, " cached")
                + flag(random, 4, " worst")
                + flag(random, 4, " out").replace("out", random.nextBoolean() || expert ? "" : "zerocopy")
                + " bias=" + random.nextInt(3)
                + (random.nextBoolean() ? " precision=RANK_PARTIAL" : "")
                + flag(random, 5, " async")
                + flag(random, 4, " outs")
                + flag(random, 4, " stats")
                + multiprocessors(random);
    }

    private static String low(SplittableRandom random) {
        return " format=" + FORMATS.get(random.nextInt(FORMATS.size()))
                + (random.nextBoolean() ? " precision=RANK_PARTIAL" : " weights=both")
                + flag(random, 3, " id64")
                + flag(random, 4, " out")
                + flag(random, 4, " zerocopy")
                + flag(random, 4, " stats")
                + flag(random, 3, " hook")
                + flag(random, 5, " async")
                + flag(random, 4, " outs")
                + multiprocessors(random);
    }

    private static String multiprocessors(SplittableRandom random) {
        return flag(random, 4, " multiprocessors=" + (1 + random.nextInt(100)));
    }

    private static String flag(SplittableRandom random, int oneIn, String text) {
        return random.nextInt(oneIn) == 0 ? text : "";
    }
}
