package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/** Rounds of low-latency dispatch and combine on one buffer, each with new data; {@code rounds}, 3 by default. */
final class LowLatencyRounds implements Scenario {
    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        LowLatencyOptions options = LowLatencyOptions.of(context.params());
        EpBuffer buffer = context.buffer(setup.shape());
        for (int round = 0; round < context.params().number("rounds", 3); round++) {
            try (LowLatencyExchange exchange =
                    new LowLatencyExchange(context, buffer, setup.workload(1000L * round + 1), options, Set.of())) {
                exchange.round();
                context.fact("bits", exchange.bits());
            }
        }
    }
}
