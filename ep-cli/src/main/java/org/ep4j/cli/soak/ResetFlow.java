package org.ep4j.cli.soak;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.cli.soak.Member.State;

/**
 * Connections of members to rank 0 of the rendezvous are reset, of one member or of all. The group may go on as it was, or
 * leave ranks out; then these are told, and those that go on agree.
 */
final class ResetFlow implements FaultFlow {
    private final CuttingProxy proxy;

    /** Cuts what goes through {@code proxy}. */
    ResetFlow(CuttingProxy proxy) {
        this.proxy = proxy;
    }

    @Override
    public void run(RankGroup group) {
        List<Member> all = group.members();
        group.run(all, IN_FLIGHT, 0);
        FaultFlow.awaitMoment(group);
        long start = System.nanoTime();
        proxy.cut(group.random().nextBoolean() ? 1 : Integer.MAX_VALUE);
        int runs = all.stream().mapToInt(Member::runs).max().orElse(0);
        boolean settled = false;
        while (!settled) {
            List<Member> going =
                    all.stream().filter(m -> m.isReady() || m.isBusy()).toList();
            settled = group.goOn(
                    going,
                    PROOF,
                    () -> going.stream().allMatch(m -> m.is(State.IDLE) && m.runs() > runs + 1),
                    group.limit(),
                    "what ranks do whose connections were reset");
            if (!settled && all.stream().allMatch(m -> going.contains(m) == (m.isReady() || m.isBusy()))) {
                // Nobody ended: the limit has passed, which is told.
                return;
            }
        }
        judge(group, start);
    }

    private static void judge(RankGroup group, long start) {
        List<Member> going = group.members().stream().filter(Member::isReady).toList();
        Set<Integer> missing = group.members().stream()
                .filter(m -> !m.isReady())
                .map(Member::rank)
                .collect(Collectors.toCollection(TreeSet::new));
        group.members().stream()
                .filter(m -> m.is(State.GAVE_UP))
                .forEach(m -> group.problem(
                        Problem.Kind.NOT_TOLD, m + " neither goes on nor was told that it is out: " + m.lastFailure()));
        if (going.isEmpty()) {
            group.problem(Problem.Kind.NOT_RECOVERED, "nobody goes on after connections were reset");
        }
        for (Member member : going) {
            if (!member.masked().equals(missing)) {
                boolean split = going.stream().anyMatch(m -> member.masked().contains(m.rank()));
                group.problem(
                        split ? Problem.Kind.SPLIT : Problem.Kind.DISAGREED,
                        member + " goes on without " + member.masked() + ", and these do not go on: " + missing);
            }
        }
        if (!missing.isEmpty()) {
            group.statistics().recovered(Fault.RESET, java.time.Duration.ofNanos(System.nanoTime() - start));
        }
    }
}
