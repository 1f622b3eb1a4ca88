package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.Recovery;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.testing.Guard;

/**
 * Rank 1 takes nothing from rank 0 after the first dispatch. The second one has more messages than go into the queue of the
 * backend and the ring of the GPU together, so rank 0's kernel waits for the ring. With {@code held}, the backend keeps its
 * proxy thread beyond the deadline of the operation, and the others go on without
 * rank 1 meanwhile; otherwise it gives rank 1 up before. The other ranks only send their part: they wait for nothing that cannot come.
 */
final class StuckPeerScenario implements Scenario {
    private static final Duration BRIEF = Duration.ofSeconds(5);

    @Override
    public void run(RankContext context) {
        EpBuffer buffer = context.buffer(Setup.of(context).shape());
        Params params = context.params();
        if (context.isRank(0)) {
            stuck(context, buffer, params);
        } else {
            Brief.lowLatencySends(context, buffer, params);
        }
        context.meet();
        if (params.has("held") && !context.isRank(1)) {
            buffer.mask(1);
            // The first of these recoveries cannot give back the memory that the thread is held with.
            for (int round = 0; round < 2; round++) {
                LifecycleScenario.highThroughput(
                        context, buffer, Params.parse("hidden=64 tokens=100 topk=2 experts=6 seed=" + round));
                Recovery recovery = buffer.recover(Guard.minute());
                Checks.equal("ranks that recovery masked", recovery.masked(), Set.of(1));
            }
        }
        context.meet();
    }

    private static void stuck(RankContext context, EpBuffer buffer, Params params) {
        boolean held = params.has("held");
        EpException failure = Checks.refused(EpException.class, "an exchange with a rank that takes nothing", () -> {
            Brief.lowLatencyCombine(context, buffer, params, Guard.minute());
            if (held) {
                Brief.lowLatencyDispatch(context, buffer, params, BRIEF);
            } else {
                LifecycleScenario.lowLatency(context, buffer, params);
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
                    "an exchange while the proxy thread is held",
                    () -> Brief.lowLatencyDispatch(context, buffer, params, BRIEF));
            Checks.equal("phase() of the next operation", next.failure().phase(), "restart of proxy threads");
        } else {
            Checks.that(
                    failure instanceof EpPeerLostException lost
                            && lost.failure().peer() == 1,
                    "rank 1 must be named lost, but this was thrown: " + failure);
        }
    }
}
