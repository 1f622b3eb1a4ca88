package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.testing.Guard;

/**
 * Rank 0 can no longer post to rank 1, which lives; the others leave it out by hand and go on. It cannot be taken back, which
 * all are told at once.
 */
final class MaskedByHandScenario implements Scenario {
    private static final int CUT_OFF = 1;

    @Override
    public void run(RankContext context) {
        Params params = Params.parse("");
        EpBuffer buffer = context.buffer(new Setup(params, context.size()).shape());
        LifecycleScenario.highThroughput(context, buffer, params);
        Checks.refused(EpException.class, "exchanges over a link that breaks", () -> {
            for (int round = 0; true; round++) {
                // Rank 0 finds the broken link; a rank that waits for its messages ends at a deadline.
                CutLinkScenario.lowLatency(
                        context, buffer, params, round, context.isRank(0) ? Guard.minute() : CutLinkScenario.BRIEF);
            }
        });
        context.meet();
        if (!context.isRank(CUT_OFF)) {
            buffer.mask(CUT_OFF);
            for (int round = 0; round < 5; round++) {
                LifecycleScenario.lowLatency(context, buffer, Params.parse("seed=" + round));
                LifecycleScenario.highThroughput(context, buffer, Params.parse("seed=" + round));
            }
        }
        context.meet();
        EpPeerLostException gone = Checks.refused(
                EpPeerLostException.class,
                "taking back a rank that cannot be reached",
                () -> buffer.clearMasks(Guard.minute()));
        if (!context.isRank(CUT_OFF)) {
            Checks.equal("peer()", gone.failure().peer(), CUT_OFF);
            Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of(CUT_OFF));
        }
        context.meet();
    }
}
