package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.Recovery;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.testing.Guard;

/**
 * One write of rank 0 in a low-latency combine fails, and its path works before and after it. No counter announces the row, so the combine
 * fails on rank 1. After a recovery with both ranks exchanges succeed again.
 */
final class RefusedWriteScenario implements Scenario {
    private static final Duration BRIEF = Duration.ofSeconds(2);

    @Override
    public void run(RankContext context) {
        Params params = context.params();
        EpBuffer buffer = new Setup(context, params).buffer();
        Checks.refused(EpException.class, "a combine of which a write fails", () -> {
            DeadlineExchanges.lowLatencyCombine(context, buffer, params, context.isRank(0) ? Guard.minute() : BRIEF);
            // Rank 0 may have received its rows before the failure.
            Checks.that(context.isRank(0), "rank 1 has combined rows that were not sent");
            LowLatencyExchange.run(context, buffer, params);
        });
        context.barrier();
        recoverTwice(context, buffer);
        context.barrier();
    }

    private static void recoverTwice(RankContext context, EpBuffer buffer) {
        for (int recovery = 0; recovery < 2; recovery++) {
            Recovery both = buffer.recover(Guard.minute());
            Checks.equal("ranks that recovery masked", both.masked(), Set.of());
            for (int round = 0; round < 3; round++) {
                LowLatencyExchange.run(context, buffer, Params.parse("seed=" + round));
                HighThroughputExchange.run(context, buffer, Params.parse("seed=" + round));
            }
        }
    }
}
