package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.Recovery;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.testing.Guard;

/** Rank 0, which returns rows in rounds, can no longer post to rank 1 in one of them; the others go on without rank 1. */
final class LostInRoundScenario implements Scenario {
    private static final int CUT_OFF = 1;

    @Override
    public void run(RankContext context) {
        Params params = context.params();
        EpBuffer buffer = context.buffer(new Setup(params, context.size()).shape());
        EpException failure = Checks.refused(EpException.class, "an exchange over a link that breaks", () -> {
            // Rank 0 finds the broken link; a rank that waits for its rows ends at a deadline.
            Brief.combine(context, buffer, params, context.isRank(0) ? Guard.minute() : Duration.ofSeconds(10));
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
                    "recovery of the rank that is given up",
                    () -> buffer.recover(Duration.ofSeconds(2)));
        } else {
            Recovery recovery = buffer.recover(Guard.minute());
            Checks.equal("ranks that recovery masked", recovery.masked(), Set.of(CUT_OFF));
            for (int round = 0; round < 2; round++) {
                Map<String, String> values = new TreeMap<>(params.values());
                values.put("seed", Integer.toString(round));
                LifecycleScenario.highThroughput(context, buffer, new Params(values));
            }
        }
        context.meet();
    }
}
