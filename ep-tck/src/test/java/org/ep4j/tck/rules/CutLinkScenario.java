package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpPeerLostException;
import org.ep4j.Recovery;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/** Rank 0 can no longer post to rank 1, which lives; all others go on without rank 1. */
final class CutLinkScenario implements Scenario {
    private static final int CUT_OFF = 1;

    @Override
    public void run(RankContext context) {
        Params params = Params.parse("");
        // Nobody names another rank lost to the one that is cut off: its operations end at their deadline.
        EpGroup group = context.newGroup(Map.of(EpKeys.TIMEOUT.name(), context.isRank(CUT_OFF) ? "2s" : "60s"));
        EpBuffer buffer = context.owned(group.createBuffer(new Setup(params, context.size()).shape()));
        EpException failure = Checks.refused(EpException.class, "exchanges over a link that breaks", () -> {
            while (true) {
                LifecycleScenario.highThroughput(context, buffer, params);
                LifecycleScenario.lowLatency(context, buffer, params);
            }
        });
        if (context.isRank(CUT_OFF)) {
            Checks.refused(
                    EpException.class,
                    "recovery of the rank that is given up",
                    () -> buffer.recover(Duration.ofSeconds(4)));
        } else {
            Checks.that(
                    failure instanceof EpPeerLostException lost && lost.peer() == CUT_OFF,
                    "rank " + CUT_OFF + " must be named lost, but this was thrown: " + failure);
            Recovery recovery = buffer.recover(Duration.ofSeconds(60));
            Checks.equal("ranks that recovery masked", recovery.masked(), Set.of(CUT_OFF));
            for (int round = 0; round < 3; round++) {
                LifecycleScenario.highThroughput(context, buffer, Params.parse("seed=" + round));
                LifecycleScenario.highThroughput(
                        context, buffer, Params.parse("layout=BY_EXPERT align=4 seed=" + round));
                LifecycleScenario.lowLatency(context, buffer, Params.parse("seed=" + round));
            }
        }
        if (context.isRank(0)) {
            Checks.mentions(failure, "test0:1");
        }
        context.meet();
    }
}
