package org.ep4j.tck.rules;

import org.ep4j.EpBuffer;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/** Rank 1, which lives, is left out by hand after an exchange, and the others go on. */
final class LeftOutScenario implements Scenario {
    private static final int LEFT_OUT = 1;

    @Override
    public void run(RankContext context) {
        Params params = Params.parse("");
        EpBuffer buffer = context.buffer(new Setup(params, context.size()).shape());
        LifecycleScenario.highThroughput(context, buffer, params);
        context.meet();
        if (!context.isRank(LEFT_OUT)) {
            buffer.mask(LEFT_OUT);
            for (int round = 0; round < 3; round++) {
                LifecycleScenario.highThroughput(context, buffer, Params.parse("seed=" + round));
            }
        }
        context.meet();
    }
}
