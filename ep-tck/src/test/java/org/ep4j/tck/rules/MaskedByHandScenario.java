package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.testing.Guard;

/**
 * Rank 0 can no longer post to rank 1, which is alive; the others mask it and continue. The mask cannot be cleared, for which all ranks
 * get an exception at once.
 */
final class MaskedByHandScenario implements Scenario {
    private static final int CUT_OFF = 1;

    @Override
    public void run(RankContext context) {
        Params params = Params.parse("");
        EpBuffer buffer = new Setup(context, params).buffer();
        HighThroughputExchange.run(context, buffer, params);
        Checks.refused(EpException.class, "exchanges over a link that breaks", () -> {
            for (int round = 0; true; round++) {
                // Rank 0 finds the broken link; a rank that waits for its messages times out.
                CutLinkScenario.lowLatency(
                        context, buffer, params, round, context.isRank(0) ? Guard.minute() : CutLinkScenario.BRIEF);
            }
        });
        context.barrier();
        if (!context.isRank(CUT_OFF)) {
            buffer.mask(CUT_OFF);
            for (int round = 0; round < 5; round++) {
                LowLatencyExchange.run(context, buffer, Params.parse("seed=" + round));
                HighThroughputExchange.run(context, buffer, Params.parse("seed=" + round));
            }
        }
        context.barrier();
        EpPeerLostException gone = Checks.refused(
                EpPeerLostException.class,
                "clearing the mask of a rank that cannot be reached",
                () -> buffer.clearMasks(Guard.minute()));
        if (!context.isRank(CUT_OFF)) {
            Checks.equal("peer()", gone.failure().peer(), CUT_OFF);
            Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of(CUT_OFF));
        }
        context.barrier();
    }
}
