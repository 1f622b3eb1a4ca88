package org.ep4j.cli.soak;

import java.time.Duration;
import java.util.List;

/** One of several RDMA ports goes down while ranks exchange: the others take over, and nobody is lost. */
final class PortDownFlow implements FaultFlow {
    /** Longest time until a link is up again, and the time in which it settles then. */
    private static final Duration BACK = Duration.ofSeconds(30);

    private static final Duration SETTLED = Duration.ofSeconds(1);

    private final RdmaPorts ports;

    /** Takes one of {@code ports} down. */
    PortDownFlow(RdmaPorts ports) {
        this.ports = ports;
    }

    @Override
    public void run(RankGroup group) {
        List<Member> all = group.members();
        List<String> names = ports.interfaces();
        if (names.size() < 2) {
            group.problem(
                    Problem.Kind.UNEXPECTED,
                    "only " + names + " of the RDMA ports is up, so none can be taken down; see ip link");
            return;
        }
        String victim = names.get(group.random().nextInt(names.size()));
        long start = System.nanoTime();
        group.run(all, IN_FLIGHT, 0);
        FaultFlow.awaitMoment(group);
        ports.down(victim);
        try {
            if (group.ranWell(all, IN_FLIGHT, start)) {
                group.runWell(all, IN_FLIGHT, 0);
            }
        } finally {
            ports.up(victim);
            if (!group.await(() -> ports.interfaces().contains(victim), BACK)) {
                group.problem(
                        Problem.Kind.UNEXPECTED,
                        victim + " was set up again and is not up after " + BACK.toSeconds() + " s; see ip link");
            }
            group.watch(SETTLED);
        }
    }
}
