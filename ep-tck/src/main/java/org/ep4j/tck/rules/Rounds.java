package org.ep4j.tck.rules;

import org.ep4j.EpBuffer;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/**
 * Rounds of dispatch and combine on one buffer, each with new data: of low latency with the parameter {@code low-latency}, else
 * of high throughput. The parameter {@code rounds} is their number, by default 3 for low latency and 2 for high throughput.
 */
final class Rounds implements Scenario {
    @Override
    public void run(RankContext context) {
        Params params = context.params();
        boolean lowLatency = params.has("low-latency");
        Setup setup = Setup.of(context);
        EpBuffer buffer = setup.buffer();
        for (int round = 0; round < params.number("rounds", lowLatency ? 3 : 2); round++) {
            Workload workload = setup.workload(1000L * round + 1);
            if (lowLatency) {
                try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, workload, params)) {
                    exchange.round();
                    context.fact("bits", exchange.bits());
                }
            } else {
                try (HighThroughputExchange exchange = new HighThroughputExchange(context, buffer, workload, params)) {
                    exchange.round();
                }
            }
        }
    }
}
