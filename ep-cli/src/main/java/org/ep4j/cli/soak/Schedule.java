package org.ep4j.cli.soak;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.ep4j.cli.soak.SoakSpec.Counters;

/** The rounds of a run: a function of its {@link SoakSpec}, whatever happens in other rounds. */
final class Schedule {
    /** GPUs compile kernels for each shape, so these are few. */
    private static final int SHAPES = 6;

    private static final int LARGEST_GAP_MILLIS = 50;
    private static final int SHORTEST_STOP_MILLIS = 300;
    private static final int LONGEST_STOP_MILLIS = 1000;
    private static final int PARTITION_RANKS = 2;

    /** More than the operations of one buffer. */
    private static final long BELOW_END = 1L << 20;

    private static final List<Counters> IN_TURN = List.of(Counters.ZERO, Counters.NEAR_2_32, Counters.NEAR_2_63);

    private final SoakSpec spec;

    Schedule(SoakSpec spec) {
        this.spec = spec;
    }

    /**
     * One round.
     *
     * @param number from 0
     * @param fault that is injected
     * @param ranks that take part
     * @param shape of the buffer
     * @param victims ranks that the fault hits
     * @param moment when it does, from 0 to 1: part of the time that the exchanges in flight take
     * @param gapMillis between two victims
     * @param heldMillis how long a stopped victim stays so after the others have recovered
     * @param firstOperation number before that of the first operation
     * @param seed of the exchanges
     */
    record Round(
            int number,
            Fault fault,
            int ranks,
            ShapeSpec shape,
            List<Integer> victims,
            double moment,
            int gapMillis,
            int heldMillis,
            long firstOperation,
            long seed) {
        Round {
            victims = List.copyOf(victims);
        }
    }

    Round round(int number) {
        int kinds = spec.faults().size();
        int cycle = number / kinds;
        Fault fault = shuffledFaults(cycle).get(number % kinds);
        SplittableRandom random = random(1, number);
        int ranks = fault == Fault.PARTITION ? PARTITION_RANKS : spec.ranks();
        SplittableRandom ofShape = random(2, random.nextInt(SHAPES));
        ShapeSpec shape = ShapeSpec.draw(ofShape, ranks, spec.hidden(), spec.tokens());
        return new Round(
                number,
                fault,
                ranks,
                shape,
                victims(fault, cycle, ranks, random),
                random.nextDouble(),
                random.nextInt(LARGEST_GAP_MILLIS + 1),
                SHORTEST_STOP_MILLIS + random.nextInt(LONGEST_STOP_MILLIS - SHORTEST_STOP_MILLIS + 1),
                firstOperation(number, random),
                random.nextLong());
    }

    /** Every fault comes once in each cycle, in an order of its own. */
    private List<Fault> shuffledFaults(int cycle) {
        List<Fault> left = new ArrayList<>(spec.faults());
        List<Fault> order = new ArrayList<>();
        SplittableRandom random = random(0, cycle);
        while (!left.isEmpty()) {
            order.add(left.remove(random.nextInt(left.size())));
        }
        return order;
    }

    private static List<Integer> victims(Fault fault, int cycle, int ranks, SplittableRandom random) {
        int first = random.nextInt(ranks);
        if (fault != Fault.DOUBLE_KILL) {
            return List.of(first);
        }
        boolean withZero = cycle % 2 == 0;
        int one = withZero ? 0 : 1 + first % (ranks - 1);
        int other = one;
        while (other == one) {
            other = withZero ? random.nextInt(ranks) : 1 + random.nextInt(ranks - 1);
        }
        return random.nextBoolean() ? List.of(one, other) : List.of(other, one);
    }

    private long firstOperation(int number, SplittableRandom random) {
        long below = random.nextInt(24);
        Counters counters = spec.counters();
        if (counters == Counters.MIXED) {
            counters = IN_TURN.get(number % IN_TURN.size());
        }
        return switch (counters) {
            case NEAR_2_32 -> (1L << 32) - 1 - below;
            case NEAR_2_63 -> Long.MAX_VALUE - BELOW_END - below;
            case ZERO, MIXED -> 0;
        };
    }

    private SplittableRandom random(int purpose, int number) {
        return new SplittableRandom(spec.seed() * 0x9e3779b97f4a7c15L + purpose * 0x2545f4914f6cdd1dL + number);
    }
}
