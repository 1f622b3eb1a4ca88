package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Set;
import org.ep4j.DispatchResult;
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
 * It does come, and learns that it was left out. Parameters are those of the exchange.
 */
final class MovedByMaskScenario implements Scenario {
    private static final Duration BRIEF = Duration.ofSeconds(2);

    @Override
    public void run(RankContext context) {
        Params params = context.params();
        EpBuffer buffer = context.buffer(new Setup(params, context.size()).shape());
        int late = context.size() - 1;
        try (HighThroughputExchange exchange = new HighThroughputExchange(
                context,
                buffer,
                new Setup(params, context.size()).workload(),
                HighThroughputOptions.of(params),
                Set.of())) {
            run(context, buffer, params, exchange, late);
        }
        isNotTakenBack(buffer, late);
    }

    private static void isNotTakenBack(EpBuffer buffer, int late) {
        EpPeerLostException gone = Checks.refused(
                EpPeerLostException.class,
                "clearing the mask of the rank that the others left out",
                () -> buffer.clearMasks(BRIEF));
        Checks.equal("peer() of the exception from clearMasks()", gone.failure().peer(), late);
    }

    private static void run(
            RankContext context, EpBuffer buffer, Params params, HighThroughputExchange exchange, int late) {
        DispatchResult dispatched = exchange.dispatch();
        context.meet();
        if (context.isRank(late)) {
            context.meet();
            EpException failure = Checks.refused(
                    EpException.class,
                    "a combine that the others have given up",
                    () -> exchange.combine(dispatched.handle()));
            Checks.that(
                    failure instanceof EpPeerLostException lost
                            && lost.failure().peer() == late,
                    "this rank must get an exception that names itself, because the others left it out, but got "
                            + failure);
        } else {
            // Or another rank that has given up says that the late one is to be left out.
            exchange.endAfter(BRIEF);
            Checks.refused(
                    EpException.class,
                    "a combine that a rank does not call",
                    () -> exchange.combine(dispatched.handle()));
            buffer.mask(late);
            Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of(late));
            // A mask alone could be cleared: the buffer has moved away from the rank.
            isNotTakenBack(buffer, late);
            context.meet();
            // The combine that failed has not touched it, and it lies in the memory that the buffer has left.
            exchange.verify(dispatched);
            for (int round = 0; round < 5; round++) {
                LifecycleScenario.highThroughput(context, buffer, Params.parse("seed=" + round));
                LifecycleScenario.lowLatency(context, buffer, Params.parse("seed=" + round));
            }
            Recovery recovery = buffer.recover(Guard.minute());
            Checks.equal("ranks that recovery masked", recovery.masked(), Set.of(late));
            Recovery next = buffer.recover(Guard.minute());
            Checks.reported(recovery, context.size());
            Checks.reported(next, context.size());
            for (int rank = 0; rank < late; rank++) {
                Checks.equal(
                        "operations that rank " + rank + " has completed",
                        recovery.completed(rank),
                        recovery.rollbackTo());
                Checks.equal("operations that rank " + rank + " has completed since", next.completed(rank), 0L);
            }
            LifecycleScenario.highThroughput(context, buffer, params);
        }
    }
}
