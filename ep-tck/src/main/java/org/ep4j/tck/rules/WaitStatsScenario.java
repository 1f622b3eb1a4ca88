package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Set;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.Tensor;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Workload;

/** Rank 1 comes late: the others must book the time on it, and on top of what the tensor held. */
final class WaitStatsScenario implements Scenario {
    private static final Duration LATE = Duration.ofMillis(300);
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
            Tensor waited = exchange.arena().longs(new int[context.size()], context.size());
            Tensor x = exchange.inputs().rows(context.rank());
            Tensor ids = exchange.inputs().ids(context.rank(), DataType.INT32);
            context.meet();
            if (context.isRank(LATE_RANK)) {
                context.sleep(LATE);
            }
            buffer.dispatch(
                    LowLatencyDispatchRequest.of(x, ids).waitStats(waited).build());
            long[] seen = exchange.arena().readLongs(waited);
            long half = LATE.toNanos() / 2;
            for (int rank = 0; rank < seen.length; rank++) {
                boolean late = rank == LATE_RANK && !context.isRank(LATE_RANK);
                Checks.that(
                        late ? seen[rank] >= half : seen[rank] >= 0 && seen[rank] < half,
                        "waitStats[" + rank + "] is " + seen[rank] + " ns where rank " + LATE_RANK + " came "
                                + LATE.toMillis() + " ms late");
            }
        }
    }
}
