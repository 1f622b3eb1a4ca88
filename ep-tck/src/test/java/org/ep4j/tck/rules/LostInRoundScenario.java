package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.Recovery;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.testing.Guard;

/** Rank 0, which returns rows in rounds, can no longer post to rank 1 in one of them; the others continue without rank 1. */
final class LostInRoundScenario implements Scenario {
    private static final int CUT_OFF = 1;

    @Override
    public void run(RankContext context) {
        Params params = context.params();
        EpBuffer buffer = new Setup(context, params).buffer();
        EpException failure = Checks.refused(EpException.class, "an exchange over a link that breaks", () -> {
            // Rank 0 finds the broken link; a rank that waits for its rows times out.
            Duration limit = context.isRank(0) ? Guard.minute() : Duration.ofSeconds(10);
            DeadlineExchanges.combine(context, buffer, params, limit);
        });
        if (context.isRank(0)) {
            Checks.that(
                    failure instanceof EpPeerLostException lost
                            && lost.failure().peer() == CUT_OFF,
                    "rank " + CUT_OFF + " must be named lost, but this was thrown: " + failure);
        }
        if (context.isRank(CUT_OFF)) {
            Checks.refused(
                    EpException.class,
                    "recovery of the rank that is cut off",
                    () -> buffer.recover(Duration.ofSeconds(2)));
        } else {
            Recovery recovery = buffer.recover(Guard.minute());
            Checks.equal("ranks that recovery masked", recovery.masked(), Set.of(CUT_OFF));
            for (int round = 0; round < 2; round++) {
                HighThroughputExchange.run(context, buffer, params.with("seed", round));
            }
        }
        context.barrier();
    }
}
