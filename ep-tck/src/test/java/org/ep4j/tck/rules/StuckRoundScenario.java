package org.ep4j.tck.rules;

import java.time.Duration;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpTimeoutException;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Rank 1 accepts no data from rank 0 after the first half of the handshake that ends a round, and waits for the second half. */
final class StuckRoundScenario implements Scenario {
    @Override
    public void run(RankContext context) {
        EpBuffer buffer = Setup.of(context).buffer();
        EpException failure = Checks.refused(
                EpException.class,
                "an exchange with a rank that accepts no data",
                () -> DeadlineExchanges.combine(context, buffer, context.params(), Duration.ofSeconds(10)));
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
        context.barrier();
    }
}
