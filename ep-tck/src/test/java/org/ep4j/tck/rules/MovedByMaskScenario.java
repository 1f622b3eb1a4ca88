package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Set;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.Recovery;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.testing.Guard;

/**
 * The last rank does not call an operation, so the others mask it: the buffer moves to memory that this rank, which may still call the
 * operation, cannot reach. It does call, and must get an exception that names itself. Parameters are those of the exchange.
 */
final class MovedByMaskScenario implements Scenario {
    private static final Duration BRIEF = Duration.ofSeconds(2);

    @Override
    public void run(RankContext context) {
        Params params = context.params();
        EpBuffer buffer = new Setup(context, params).buffer();
        int late = context.size() - 1;
        try (HighThroughputExchange exchange = new HighThroughputExchange(context, buffer, params)) {
            run(context, buffer, params, exchange, late);
        }
        cannotBeUnmasked(buffer, late);
    }

    private static void cannotBeUnmasked(EpBuffer buffer, int late) {
        EpPeerLostException gone = Checks.refused(
                EpPeerLostException.class,
                "clearing the mask of the rank that the others left out",
                () -> buffer.clearMasks(BRIEF));
        Checks.equal("peer() of the exception from clearMasks()", gone.failure().peer(), late);
    }

    private static void run(
            RankContext context, EpBuffer buffer, Params params, HighThroughputExchange exchange, int late) {
        DispatchResult dispatched = exchange.dispatch();
        context.barrier();
        if (context.isRank(late)) {
            context.barrier();
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
            // The combine times out, or another rank that has timed out masks the late one first.
            exchange.timeout(BRIEF);
            Checks.refused(
                    EpException.class,
                    "a combine that a rank does not call",
                    () -> exchange.combine(dispatched.handle()));
            buffer.mask(late);
            Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of(late));
            // A mask without a move of the buffer could be cleared.
            cannotBeUnmasked(buffer, late);
            context.barrier();
            // The failed combine has not changed the result, which is in the memory that the buffer has left.
            exchange.verify(dispatched);
            for (int round = 0; round < 5; round++) {
                HighThroughputExchange.run(context, buffer, Params.parse("seed=" + round));
                LowLatencyExchange.run(context, buffer, Params.parse("seed=" + round));
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
            HighThroughputExchange.run(context, buffer, params);
        }
    }
}
