package org.ep4j.tck.rules;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.Tensor;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Workload;

/**
 * Rank 1 comes late: the others must book the time on it, on top of what the tensor held, and never more than the call took. On a busy
 * machine any rank may be kept waiting for some hundred milliseconds, so what is wrong once is measured again with a delay that outweighs
 * that; all ranks decide alike. Each delay is below the timeout of the kit's groups.
 */
final class WaitStatsScenario implements Scenario {
    private static final List<Duration> LATE =
            List.of(Duration.ofMillis(300), Duration.ofMillis(900), Duration.ofMillis(2500), Duration.ofSeconds(10));

    private static final int LATE_RANK = 1;

    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        EpBuffer buffer = context.buffer(setup.shape());
        Workload workload = setup.workload();
        try (LowLatencyExchange exchange =
                new LowLatencyExchange(context, buffer, workload, LowLatencyOptions.of(context.params()), Set.of())) {
            // The first round warms up, so that what is waited for in the second is rank 1 and nothing else.
            exchange.round();
            Optional<String> wrong = Optional.empty();
            for (Duration late : LATE) {
                wrong = measure(context, buffer, exchange, late);
                byte[] own = wrong.orElse("").getBytes(StandardCharsets.UTF_8);
                if (context.exchange(own).stream().allMatch(bytes -> bytes.length == 0)) {
                    return;
                }
            }
            Checks.that(wrong.isEmpty(), wrong.orElse(""));
        }
    }

    /** What is wrong with the statistics of a dispatch that rank 1 begins late. */
    private static Optional<String> measure(
            RankContext context, EpBuffer buffer, LowLatencyExchange exchange, Duration late) {
        Tensor waited = exchange.arena().longs(new int[context.size()], context.size());
        Tensor x = exchange.inputs().rows(context.rank());
        Tensor ids = exchange.inputs().ids(context.rank(), DataType.INT32);
        context.meet();
        if (context.isRank(LATE_RANK)) {
            context.sleep(late);
        }
        long start = System.nanoTime();
        buffer.lowLatencyDispatch(
                LowLatencyDispatchRequest.builder(x, ids).waitStats(waited).build());
        long took = System.nanoTime() - start;
        long[] seen = exchange.arena().readLongs(waited);
        long half = late.toNanos() / 2;
        for (int rank = 0; rank < seen.length; rank++) {
            boolean waitsForIt = rank == LATE_RANK && !context.isRank(LATE_RANK);
            boolean right = waitsForIt ? seen[rank] >= half : seen[rank] >= 0 && seen[rank] < half;
            if (!right || seen[rank] > took) {
                return Optional.of("waitStats[" + rank + "] is " + seen[rank] + " ns, must be "
                        + (waitsForIt ? "from " + half + " to " + took : "from 0 to " + Math.min(half - 1, took))
                        + " ns: the call took " + took + " ns, and rank " + LATE_RANK + " was " + late.toMillis()
                        + " ms late");
            }
        }
        return Optional.empty();
    }
}
