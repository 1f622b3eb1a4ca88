package org.ep4j.tck.rules;

import org.ep4j.EpBuffer;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Rank 1, which is alive, is masked after an exchange, and the others continue. */
final class LeftOutScenario implements Scenario {
    private static final int MASKED = 1;

    @Override
    public void run(RankContext context) {
        Params params = Params.parse("");
        EpBuffer buffer = new Setup(context, params).buffer();
        HighThroughputExchange.run(context, buffer, params);
        context.barrier();
        if (!context.isRank(MASKED)) {
            buffer.mask(MASKED);
            for (int round = 0; round < 3; round++) {
                HighThroughputExchange.run(context, buffer, Params.parse("seed=" + round));
            }
        }
        context.barrier();
    }
}
