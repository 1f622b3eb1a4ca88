package org.ep4j.cli.soak;

import java.time.Duration;
import java.util.List;

/** Faults that nobody may be lost by: none, a short stop, slow ranks. */
final class CalmFlow implements FaultFlow {
    private static final int RUNS = 3;

    /** A stop, with what else delays a rank, stays below the timeouts. */
    private static final int PART_OF_TIMEOUT = 3;

    private static final int SLOW_MILLIS = 120;

    @Override
    public void run(RankGroup group) {
        Schedule.Round round = group.round();
        int slow = round.fault() == Fault.SLOW ? SLOW_MILLIS : 0;
        for (int i = 0; i < RUNS; i++) {
            List<Member> all = group.members();
            long start = System.nanoTime();
            group.run(all, IN_FLIGHT, slow);
            if (round.fault() == Fault.PAUSE) {
                FaultFlow.awaitMoment(group);
                pause(group);
            }
            if (!group.ranWell(all, IN_FLIGHT, start)) {
                return;
            }
        }
    }

    private static void pause(RankGroup group) {
        Duration timeout =
                group.spec().heartbeatTimeout().compareTo(group.spec().operationTimeout()) < 0
                        ? group.spec().heartbeatTimeout()
                        : group.spec().operationTimeout();
        int longest = (int) timeout.toMillis() / PART_OF_TIMEOUT;
        RankHandle victim = group.victims().get(0).handle();
        victim.stop();
        group.watch(Duration.ofMillis(group.random().nextInt(longest + 1)));
        victim.resume();
    }
}
