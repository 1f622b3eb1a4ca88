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

/** Rank 0 can no longer post to rank 1, which is alive; all others continue without rank 1. */
final class CutLinkScenario implements Scenario {
    private static final int CUT_OFF = 1;

    /** Low-latency rounds before the one in whose combine the link breaks ({@code CutFromRankZero} counts writes). */
    private static final int WHOLE = 2;

    static final Duration BRIEF = Duration.ofSeconds(2);

    @Override
    public void run(RankContext context) {
        Params params = Params.parse("");
        EpBuffer buffer = new Setup(context, params).buffer();
        EpException failure = Checks.refused(EpException.class, "exchanges over a link that breaks", () -> {
            for (int round = 0; true; round++) {
                HighThroughputExchange.run(context, buffer, params);
                // No peer reports a loss to the rank that is cut off, so its operation ends at its deadline.
                lowLatency(context, buffer, params, round, context.isRank(CUT_OFF) ? BRIEF : Guard.minute());
            }
        });
        if (context.isRank(CUT_OFF)) {
            Checks.refused(EpException.class, "recovery of the rank that is cut off", () -> buffer.recover(BRIEF));
        } else {
            Checks.that(
                    failure instanceof EpPeerLostException lost
                            && lost.failure().peer() == CUT_OFF,
                    "rank " + CUT_OFF + " must be named lost, but this was thrown: " + failure);
            Recovery recovery = buffer.recover(Guard.minute());
            Checks.equal("ranks that recovery masked", recovery.masked(), Set.of(CUT_OFF));
            for (int round = 0; round < 3; round++) {
                HighThroughputExchange.run(context, buffer, Params.parse("seed=" + round));
                HighThroughputExchange.run(context, buffer, Params.parse("layout=BY_EXPERT align=4 seed=" + round));
                LowLatencyExchange.run(context, buffer, Params.parse("seed=" + round));
            }
        }
        if (context.isRank(0)) {
            Checks.mentions(failure, "test0:1");
        }
        context.barrier();
    }

    /** Runs a round, with a timeout from the operation on in which the link breaks. */
    static void lowLatency(RankContext context, EpBuffer buffer, Params params, int round, Duration limit) {
        if (round < WHOLE) {
            LowLatencyExchange.run(context, buffer, params);
        } else if (round == WHOLE) {
            DeadlineExchanges.lowLatencyCombine(context, buffer, params, limit);
        } else {
            DeadlineExchanges.lowLatencyDispatch(context, buffer, params, limit);
        }
    }
}
