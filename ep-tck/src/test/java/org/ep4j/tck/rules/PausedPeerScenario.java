package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.Recovery;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/**
 * Rank 1 takes nothing from rank 0 for a while, so that a write of rank 0 fails for want of room, and then goes on: as when ports of a
 * NIC are changed. What rank 0 posts later must not look complete to rank 1. After a recovery both exchange again.
 */
final class PausedPeerScenario implements Scenario {
    private static final int MORE = 3;

    @Override
    public void run(RankContext context) {
        EpBuffer buffer = context.buffer(new Setup(context.params(), context.size()).shape());
        // Rows that are wrong fail it by no EpException.
        Checks.refused(EpException.class, "exchanges with a rank that pauses", () -> {
            for (int i = 0; i < MORE; i++) {
                LifecycleScenario.lowLatency(context, buffer, context.params());
            }
        });
        Recovery recovery = buffer.recover(Duration.ofSeconds(30));
        Checks.equal("ranks that recovery masked", recovery.masked(), Set.of());
        for (int i = 0; i < MORE; i++) {
            LifecycleScenario.lowLatency(context, buffer, context.params());
        }
        context.meet();
    }
}
