package org.ep4j.gpu.driver;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPath;
import org.ep4j.EpPlan;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;

/**
 * Tries, when a backend is opened, every pair of GPUs whose path is PCIe: whether data stays before its flag there is a
 * property of the machine. NVLink and xGMI need no such test.
 */
public final class PeerOrderingCheck {
    /** Takes a tenth of a second a pair. */
    public static final int ROUNDS = 10_000;

    /** Longest wait for a flag, which comes within microseconds unless another process has the GPU. */
    public static final Duration WAIT = Duration.ofSeconds(10);

    private record Pair(int first, int second) {}

    private final OpenContext context;
    private final Collective collective;
    private final GpuExposure exposure;
    private final BiPredicate<RankProfile, RankProfile> byPci;
    private final int rounds;
    private final Duration wait;

    /**
     * A check that has not begun.
     *
     * @param exposure of memory for the tests, not begun either
     * @param byPci true for two ranks whose bytes take PCIe
     * @param rounds data and flags that are sent for each pair
     * @param wait longest wait for one of the flags
     */
    public PeerOrderingCheck(
            OpenContext context,
            Collective collective,
            GpuExposure exposure,
            BiPredicate<RankProfile, RankProfile> byPci,
            int rounds,
            Duration wait) {
        this.context = context;
        this.collective = collective;
        this.exposure = exposure;
        this.byPci = byPci;
        this.rounds = rounds;
        this.wait = wait;
    }

    /**
     * Runs; all ranks find the same pairs in the plan.
     *
     * @return number of pairs that were tried
     * @throws EpUnavailableException or another failure, on all ranks, when the order of a pair is broken
     */
    public int run(Deadline deadline) {
        List<Pair> pairs = pairs();
        if (pairs.isEmpty()) {
            return 0;
        }
        List<PeerOrdering> tests = new ArrayList<>(1);
        try {
            exposure.allocate(PeerOrdering.BYTES, deadline);
            exposure.mapPeers(PeerOrdering.BYTES, deadline);
            collective.step("ordering/compile", deadline, () -> {
                tests.add(new PeerOrdering(context.device()));
                return new byte[0];
            });
            for (int number = 0; number < pairs.size(); number++) {
                Pair pair = pairs.get(number);
                int test = number;
                collective.step("ordering/" + pair.first() + "-" + pair.second(), deadline, () -> {
                    check(pair, test, tests.get(0));
                    return new byte[0];
                });
            }
        } finally {
            tests.forEach(PeerOrdering::close);
            exposure.undo();
        }
        return pairs.size();
    }

    private List<Pair> pairs() {
        EpPlan plan = context.plan();
        List<RankProfile> profiles = context.profiles();
        // PCIe ends at the host.
        Map<Integer, List<Integer>> byHost = collective.ranks().stream().collect(Collectors.groupingBy(plan::host));
        List<Pair> pairs = new ArrayList<>();
        for (int first : collective.ranks()) {
            for (int second : byHost.getOrDefault(plan.host(first), List.of())) {
                if (first < second
                        && (maps(first, second) || maps(second, first))
                        && byPci.test(profiles.get(first), profiles.get(second))) {
                    pairs.add(new Pair(first, second));
                }
            }
        }
        return pairs;
    }

    private boolean maps(int from, int to) {
        return collective.connects(from, to) && context.plan().path(from, to).kind() == EpPath.Kind.MAPPED;
    }

    private void check(Pair pair, int number, PeerOrdering test) {
        boolean first = context.rank() == pair.first();
        if (!first && context.rank() != pair.second()) {
            return;
        }
        DeviceMemory own = exposure.memory(context.rank());
        DeviceMemory peer = exposure.memory(first ? pair.second() : pair.first());
        test.check(own, peer, first, number, rounds, wait).ifPresent(wrong -> {
            throw new EpUnavailableException("PCIe from " + collective.label(pair.first()) + " to "
                    + collective.label(pair.second()) + " does not keep the order of writes: " + wrong + "; set "
                    + EpKeys.BACKEND_EXCLUDE.name() + " to " + collective.backend()
                    + ", or turn off relaxed ordering and ACS redirection of the switches between these GPUs");
        });
    }
}
