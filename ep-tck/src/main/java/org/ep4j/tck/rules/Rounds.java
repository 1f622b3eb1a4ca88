package org.ep4j.tck.rules;

import org.ep4j.EpBuffer;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Workload;

/**
 * Rounds of dispatch and combine on one buffer, each with new data: of low latency with the parameter {@code low-latency}, else
 * of high throughput. There are {@code rounds} of them, by default 3 of low latency and 2 of high throughput.
 */
final class Rounds implements Scenario {
    @Override
    public void run(RankContext context) {
        Params params = context.params();
        boolean lowLatency = params.has("low-latency");
        Setup setup = new Setup(params, context.size());
        EpBuffer buffer = context.buffer(setup.shape());
        for (int round = 0; round < params.number("rounds", lowLatency ? 3 : 2); round++) {
            Workload workload = setup.workload(1000L * round + 1);
            if (lowLatency) {
                try (LowLatencyExchange exchange =
                        new LowLatencyExchange(context, buffer, workload, LowLatencyOptions.of(params))) {
                    exchange.round();
                    context.fact("bits", exchange.bits());
                }
            } else {
                try (HighThroughputExchange exchange =
                        new HighThroughputExchange(context, buffer, workload, HighThroughputOptions.of(params))) {
                    exchange.round();
                }
            }
        }
    }
}
