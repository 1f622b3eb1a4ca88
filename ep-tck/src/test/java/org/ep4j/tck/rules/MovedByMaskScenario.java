package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.Recovery;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.testing.Guard;

/**
 * The last rank does not come to an operation, so the others leave it out by hand: the buffer moves away from it, since it may still come.
 * It does come, and learns that it was left out.
 */
final class MovedByMaskScenario implements Scenario {
    private static final Duration BRIEF = Duration.ofSeconds(2);

    @Override
    public void run(RankContext context) {
        Params params = Params.parse("");
        EpBuffer buffer = context.buffer(new Setup(params, context.size()).shape());
        int late = context.size() - 1;
        LifecycleScenario.highThroughput(context, buffer, params);
        if (context.isRank(late)) {
            context.meet();
            EpException failure = Checks.refused(
                    EpException.class,
                    "an operation that the others have given up",
                    () -> LifecycleScenario.highThroughput(context, buffer, params));
            Checks.that(
                    failure instanceof EpPeerLostException lost && lost.peer() == late,
                    "the rank must learn that it was left out, but this was thrown: " + failure);
        } else {
            // Or another rank that has given up says that the late one is to be left out.
            Checks.refused(
                    EpException.class,
                    "an operation that a rank does not call",
                    () -> Brief.lowLatencyDispatch(context, buffer, params, BRIEF));
            buffer.mask(late);
            Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of(late));
            context.meet();
            for (int round = 0; round < 5; round++) {
                LifecycleScenario.highThroughput(context, buffer, Params.parse("seed=" + round));
                LifecycleScenario.lowLatency(context, buffer, Params.parse("seed=" + round));
            }
            Recovery recovery = buffer.recover(Guard.minute());
            Checks.equal("ranks that recovery masked", recovery.masked(), Set.of(late));
            Checks.equal(
                    "numbers of completed operations",
                    Set.copyOf(recovery.completed().values()).size(),
                    1);
            Recovery next = buffer.recover(Guard.minute());
            recovery.completed().keySet().forEach(rank -> Checks.equal(
                    "operations that rank " + rank + " has completed since", next.completed().get(rank), 0L));
            LifecycleScenario.highThroughput(context, buffer, params);
        }
        EpPeerLostException gone = Checks.refused(
                EpPeerLostException.class, "taking the rank back", () -> buffer.clearMask(BRIEF));
        Checks.that(gone.peer() == late || context.isRank(late), "peer() is " + gone.peer());
    }
}
