package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.function.IntFunction;
import org.ep4j.engine.gpu.PeerTables;
import org.ep4j.plan.EpPlan;
import org.junit.jupiter.api.Test;

/**
 * Work on a plan grows with the ranks, not with their square. Compared are processor time and allocated bytes of this thread, which a
 * busy machine changes little: four times the ranks would take sixteen times of either.
 */
final class PlanSpeedTest {
    private static final int FEW = 1024;
    private static final int MANY = 4096;
    private static final int ROUNDS = 3;
    private static final double MOST_TIMES = 9;

    /** Below this, what is measured is noise. */
    private static final double NOISE_SECONDS = 0.3;

    private record Cost(double seconds, long bytes) {}

    private static Cost cost(Runnable work) {
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        double seconds = Double.MAX_VALUE;
        long bytes = Long.MAX_VALUE;
        for (int i = 0; i < ROUNDS; i++) {
            long start = threads.getCurrentThreadCpuTime();
            long before = threads.getCurrentThreadAllocatedBytes();
            work.run();
            bytes = Math.min(bytes, threads.getCurrentThreadAllocatedBytes() - before);
            seconds = Math.min(seconds, (threads.getCurrentThreadCpuTime() - start) / 1e9);
        }
        return new Cost(seconds, bytes);
    }

    private static void growsWithTheRanks(IntFunction<Runnable> work) {
        Cost few = cost(work.apply(FEW));
        Cost many = cost(work.apply(MANY));
        assertThat(many.bytes()).as("bytes of %d ranks", MANY).isLessThan((long) (MOST_TIMES * few.bytes()));
        assertThat(many.seconds())
                .as("seconds of %d ranks, where %d took %s", MANY, FEW, few.seconds())
                .isLessThan(MOST_TIMES * few.seconds() + NOISE_SECONDS);
    }

    @Test
    void theCommandTakesTimeInProportionToTheRanks() {
        growsWithTheRanks(
                ranks -> () -> assertThat(PlanBenchmark.command(ranks)).contains("forecasts"));
    }

    @Test
    void theTablesOfOneRankTakeTimeInProportionToTheRanks() {
        growsWithTheRanks(ranks -> {
            EpPlan plan = PlanBenchmark.plan(ranks);
            return () ->
                    assertThat(PlanBenchmark.tables(plan, ranks - 1).paths()).hasSize(2 * ranks);
        });
    }

    @Test
    void theTablesOfOneRankAreThoseOfThePlan() {
        EpPlan plan = PlanBenchmark.plan(512);
        PeerTables tables = PlanBenchmark.tables(plan, 511);
        assertThat(tables.places().subList(0, 504))
                .as("all but its own host post to it")
                .containsOnly(503);
        assertThat(tables.places().subList(504, 512)).containsOnly(-1);
        assertThat(tables.passing()).hasSize(1022).contains(-1, 7, 15, 503, 504, 511);
        assertThat(tables.size().symmetric()).isPositive();
    }

    @Test
    void theBenchmarkTellsWhatItMeasured() {
        PlanBenchmark.Result result = PlanBenchmark.run(16, 1);
        assertThat(List.of(result.command(), result.plan(), result.tables())).allMatch(seconds -> seconds > 0);
        assertThat(result.text())
                .contains("16 ranks (2 hosts", "./ep plan --json", "planning in a group", "tables of one rank");
    }
}
