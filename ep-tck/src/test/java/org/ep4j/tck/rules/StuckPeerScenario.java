package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.Recovery;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.testing.Guard;

/**
 * Rank 1 accepts no data from rank 0 after the first dispatch. The second one has more messages than the queue of the backend and the ring
 * of the GPU hold together, so rank 0's kernel waits for the ring. With {@code held}, the backend blocks its proxy thread beyond the
 * deadline of the operation, and the others continue without rank 1 meanwhile; otherwise the backend reports rank 1 lost before. The other
 * ranks only send, and wait for no rows that cannot arrive.
 */
final class StuckPeerScenario implements Scenario {
    private static final Duration BRIEF = Duration.ofSeconds(5);

    @Override
    public void run(RankContext context) {
        EpBuffer buffer = Setup.of(context).buffer();
        Params params = context.params();
        if (context.isRank(0)) {
            stuck(context, buffer, params);
        } else {
            DeadlineExchanges.lowLatencySends(context, buffer, params);
        }
        context.barrier();
        if (params.has("held") && !context.isRank(1)) {
            buffer.mask(1);
            // The first of these recoveries cannot free the memory in which the proxy thread is blocked.
            for (int round = 0; round < 2; round++) {
                HighThroughputExchange.run(
                        context, buffer, Params.parse("hidden=64 tokens=100 topk=2 experts=6 seed=" + round));
                Recovery recovery = buffer.recover(Guard.minute());
                Checks.equal("ranks that recovery masked", recovery.masked(), Set.of(1));
            }
        }
        context.barrier();
    }

    private static void stuck(RankContext context, EpBuffer buffer, Params params) {
        boolean held = params.has("held");
        EpException failure = Checks.refused(EpException.class, "an exchange with a rank that accepts no data", () -> {
            DeadlineExchanges.lowLatencyCombine(context, buffer, params, Guard.minute());
            if (held) {
                DeadlineExchanges.lowLatencyDispatch(context, buffer, params, BRIEF);
            } else {
                LowLatencyExchange.run(context, buffer, params);
            }
        });
        if (held) {
            if (!(failure instanceof EpTimeoutException timeout)) {
                throw failure;
            }
            Checks.equal("phase()", timeout.failure().phase(), "low-latency dispatch receive");
            Checks.equal("peer()", timeout.failure().peer(), 1);
            Checks.that(
                    timeout.failure().expected() > timeout.failure().seen(),
                    "expected() " + timeout.failure().expected() + " is not above seen() "
                            + timeout.failure().seen());
            Checks.mentions(failure, "the ring of 64 commands for ");
            EpTimeoutException next = Checks.refused(
                    EpTimeoutException.class,
                    "an exchange while the proxy thread is blocked",
                    () -> DeadlineExchanges.lowLatencyDispatch(context, buffer, params, BRIEF));
            Checks.equal("phase() of the next operation", next.failure().phase(), "restart of proxy threads");
        } else {
            Checks.that(
                    failure instanceof EpPeerLostException lost
                            && lost.failure().peer() == 1,
                    "rank 1 must be named lost, but this was thrown: " + failure);
        }
    }
}
