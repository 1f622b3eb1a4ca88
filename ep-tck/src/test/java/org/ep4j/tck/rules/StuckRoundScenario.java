package org.ep4j.tck.rules;

import java.time.Duration;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpTimeoutException;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/** Rank 1 takes nothing from rank 0 after the first half of the meeting that ends a round: it waits for the second one. */
final class StuckRoundScenario implements Scenario {
    @Override
    public void run(RankContext context) {
        EpBuffer buffer = context.buffer(Setup.of(context).shape());
        EpException failure = Checks.refused(
                EpException.class,
                "an exchange with a rank that takes nothing",
                () -> Brief.combine(context, buffer, context.params(), Duration.ofSeconds(10)));
        if (context.isRank(1)) {
            if (!(failure instanceof EpTimeoutException timeout)) {
                throw failure;
            }
            Checks.equal("peer()", timeout.failure().peer(), 0);
            Checks.equal("phase()", timeout.failure().phase(), "combine rows");
            Checks.equal(
                    "expected() - seen()",
                    timeout.failure().expected() - timeout.failure().seen(),
                    1L);
        }
        context.meet();
    }
}
