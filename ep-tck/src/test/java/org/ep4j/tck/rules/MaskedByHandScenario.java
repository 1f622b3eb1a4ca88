package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpPeerLostException;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/**
 * Rank 0 can no longer post to rank 1, which lives; the others leave it out by hand and go on. It cannot be taken back, which
 * all are told at once.
 */
final class MaskedByHandScenario implements Scenario {
    private static final int CUT_OFF = 1;
    private static final Duration LONG = Duration.ofSeconds(60);

    @Override
    public void run(RankContext context) {
        Params params = Params.parse("");
        EpGroup group = context.newGroup(Map.of(EpKeys.TIMEOUT.name(), "2s"));
        EpBuffer buffer = context.owned(group.createBuffer(new Setup(params, context.size()).shape()));
        LifecycleScenario.highThroughput(context, buffer, params);
        Checks.refused(EpException.class, "exchanges over a link that breaks", () -> {
            while (true) {
                LifecycleScenario.lowLatency(context, buffer, params);
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
                EpPeerLostException.class, "taking back a rank that cannot be reached", () -> buffer.clearMask(LONG));
        if (!context.isRank(CUT_OFF)) {
            Checks.equal("peer()", gone.peer(), CUT_OFF);
            Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of(CUT_OFF));
        }
        context.meet();
    }
}
