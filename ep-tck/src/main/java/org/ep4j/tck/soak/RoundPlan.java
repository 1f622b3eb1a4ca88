package org.ep4j.tck.soak;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.tck.ranks.Params;

/**
 * The plan of one round, drawn from its seed.
 *
 * @param seed of the exchanges
 * @param fault that is injected
 * @param victims the ranks with the fault, in the order of their deaths
 * @param begin index of the exchange at whose beginning a victim starts {@code delay}; at least 1, so that all ranks have begun
 * @param delay from then to the fault
 * @param gap from the first to the second death; or how long a victim is stopped, or its port down
 * @param exchanges least number of exchanges of the ranks that remain, after the last recovery
 * @param hidden elements of a row
 * @param topK experts of a token
 * @param firstNumber number of the first operations: the setting {@link org.ep4j.config.EpKeys#FIRST_NUMBER}
 */
record RoundPlan(
        long seed,
        Fault fault,
        List<Integer> victims,
        int begin,
        Duration delay,
        Duration gap,
        int exchanges,
        int hidden,
        int topK,
        long firstNumber) {
    /** First numbers: those of new buffers in half of the rounds, else numbers that pass a power of two, or nearly the largest. */
    private static final List<Long> FIRST_NUMBERS =
            List.of(1L, 1L, 1L, 1L, (1L << 31) - 8, (1L << 32) - 8, 1L << 32, (1L << 47) - (1L << 20));

    private static final int MOST_BEFORE = 10;
    private static final int MOST_DELAY_MILLIS = 4;
    private static final int MOST_KILL_GAP_MILLIS = 50;
    private static final int LEAST_DOWN_MILLIS = 500;
    private static final int MOST_DOWN_MILLIS = 2000;

    /** Returns a generator. Consecutive seeds are spread first, since the first numbers of {@link Random} would be alike. */
    static Random random(long seed) {
        return new Random(seed * 0x9e3779b97f4a7c15L);
    }

    /**
     * Returns the round of a seed.
     *
     * @param pause longest stop that does not count as a loss
     */
    static RoundPlan draw(SoakRequest request, long seed, Duration pause) {
        Random random = random(seed);
        Fault fault = request.faults().get(random.nextInt(request.faults().size()));
        List<Integer> ranks =
                new ArrayList<>(IntStream.range(0, request.ranks()).boxed().toList());
        Collections.shuffle(ranks, random);
        boolean withZero = random.nextBoolean();
        int first = ranks.indexOf(0);
        switch (fault) {
            // Rank 0 runs the rendezvous, and has no connection to it.
            case RESET -> ranks.remove(first);
            case DOUBLE_KILL -> {
                if (withZero) {
                    Collections.swap(ranks, first, random.nextInt(2));
                } else {
                    ranks.remove(first);
                }
            }
            default -> {}
        }
        int victims = switch (fault) {
            case NONE, CLOSE, FULL -> 0;
            default -> Math.max(1, fault.lost());
        };
        Duration gap = switch (fault) {
            case PAUSE -> pause.multipliedBy(1 + random.nextInt(100)).dividedBy(100);
            case PORT_DOWN ->
                Duration.ofMillis(LEAST_DOWN_MILLIS + random.nextInt(MOST_DOWN_MILLIS - LEAST_DOWN_MILLIS + 1));
            default -> Duration.ofMillis(random.nextInt(MOST_KILL_GAP_MILLIS + 1));
        };
        return new RoundPlan(
                seed,
                fault,
                List.copyOf(ranks.subList(0, victims)),
                1 + random.nextInt(MOST_BEFORE),
                Duration.ofMillis(random.nextInt(MOST_DELAY_MILLIS + 1)),
                gap,
                MOST_BEFORE + 10 + random.nextInt(40),
                16 * (1 + random.nextInt(16)),
                1 + random.nextInt(8),
                FIRST_NUMBERS.get(random.nextInt(FIRST_NUMBERS.size())));
    }

    Map<String, String> params() {
        Map<String, String> params = new TreeMap<>();
        params.put("seed", Long.toString(seed));
        params.put("fault", fault.name());
        params.put("victims", victims.stream().map(String::valueOf).collect(Collectors.joining(",")));
        params.put("begin", Integer.toString(begin));
        params.put("delay", Long.toString(delay.toMillis()));
        params.put("gap", Long.toString(gap.toMillis()));
        params.put("exchanges", Integer.toString(exchanges));
        params.put("hidden", Integer.toString(hidden));
        params.put("topk", Integer.toString(topK));
        params.put("first", Long.toString(firstNumber));
        return params;
    }

    static RoundPlan of(Params params) {
        return new RoundPlan(
                params.longNumber("seed", 1),
                params.one(Fault.class, "fault", Fault.NONE),
                params.numbers("victims"),
                params.number("begin", 1),
                Duration.ofMillis(params.number("delay", 0)),
                Duration.ofMillis(params.number("gap", 0)),
                params.number("exchanges", 20),
                params.number("hidden", 96),
                params.number("topk", 5),
                params.longNumber("first", 1));
    }
}
