package org.ep4j.cli.soak;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.ep4j.cli.soak.Member.State;

/** Ranks close buffers at different times and create others; then one leaves, and the others go on without it. */
final class SkewedCloseFlow implements FaultFlow {
    private static final int CYCLES = 2;
    private static final int SKEW_MILLIS = 200;
    private static final int SETTLE_MILLIS = 3000;

    @Override
    public void run(RankGroup group) {
        for (int i = 0; i < CYCLES; i++) {
            for (Member member : group.members()) {
                member.enter(State.JOINING);
                member.handle()
                        .send(new Order.Recreate(
                                group.round().shape(), group.random().nextInt(SKEW_MILLIS)));
            }
            if (!group.awaitReady() || !group.runWell(group.members(), PROOF, 0)) {
                return;
            }
        }
        leave(group);
    }

    private static void leave(RankGroup group) {
        Member leaver = group.victims().get(0);
        List<Member> others = group.survivors();
        long start = System.nanoTime();
        group.run(others, PROOF, 0);
        leaver.handle().send(new Order.Close(group.random().nextInt(SKEW_MILLIS), SETTLE_MILLIS));
        boolean settled = group.goOn(
                others,
                PROOF,
                () -> others.stream().allMatch(m -> m.is(State.RECOVERED)),
                group.limit(),
                "recovery after a rank left");
        if (!settled) {
            RankGroup.otherThan(others, State.RECOVERED, State.IDLE, State.RUNNING)
                    .ifPresent(m -> group.problem(
                            Problem.Kind.NOT_RECOVERED, m + " after " + leaver + " left: " + m.lastFailure()));
            return;
        }
        group.statistics().recovered(Fault.SKEWED_CLOSE, Duration.ofNanos(System.nanoTime() - start));
        others.stream()
                .filter(m -> !m.masked().equals(Set.of(leaver.rank())))
                .forEach(m -> group.problem(
                        Problem.Kind.DISAGREED, m + " left out " + m.masked() + " when " + leaver + " left"));
        group.runWell(others, PROOF, 0);
        if (!group.await(() -> leaver.is(State.CLOSED), group.limit())) {
            group.hang("closing of the rank that left");
        }
    }
}
