package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/** Rounds of high-throughput dispatch and combine on one buffer, each with new data; {@code rounds}, 2 by default. */
final class HighThroughputRounds implements Scenario {
    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        HighThroughputOptions options = HighThroughputOptions.of(context.params());
        EpBuffer buffer = context.buffer(setup.shape());
        for (int round = 0; round < context.params().number("rounds", 2); round++) {
            try (HighThroughputExchange exchange =
                    new HighThroughputExchange(context, buffer, setup.workload(1000L * round + 1), options, Set.of())) {
                exchange.round();
            }
        }
    }
}
