package org.ep4j.backend.nvlink;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.DeviceMemory;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.cuda.PeerOrdering;
import org.ep4j.engine.driver.GpuSharing;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.spi.OpenContext;

/**
 * Tries, when the backend is opened, every pair of GPUs whose path is PCIe: whether data stays before its flag there is a
 * property of the machine. NVLink needs no such test.
 */
final class OrderingCheck {
    /** Takes a tenth of a second a pair. */
    static final int ROUNDS = 10_000;

    private static final Duration WAIT = Duration.ofSeconds(10);

    record Pair(int first, int second) {}

    private final OpenContext context;
    private final Collective collective;
    private final GpuSharing sharing;
    private final int rounds;

    OrderingCheck(OpenContext context, Collective collective, GpuSharing sharing, int rounds) {
        this.context = context;
        this.collective = collective;
        this.sharing = sharing;
        this.rounds = rounds;
    }

    /**
     * Runs; all ranks find the same pairs in the plan.
     *
     * @throws EpUnavailableException or another failure, on all ranks, when the order of a pair is broken
     */
    void run(Deadline deadline) {
        List<Pair> pairs = pairs(context.plan(), collective.ranks());
        if (pairs.isEmpty()) {
            return;
        }
        Exposure exposure = new Exposure(context, collective, sharing, "of-ordering");
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
                    check(pair, test, exposure, tests.get(0));
                    return new byte[0];
                });
            }
        } finally {
            tests.forEach(PeerOrdering::close);
            exposure.undo();
        }
    }

    static List<Pair> pairs(EpPlan plan, List<Integer> ranks) {
        List<Pair> pairs = new ArrayList<>();
        for (int a : ranks) {
            for (int b : ranks) {
                if (a < b && (uses(plan, a, b) || uses(plan, b, a)) && byPci(plan, a, b)) {
                    pairs.add(new Pair(a, b));
                }
            }
        }
        return pairs;
    }

    private static boolean uses(EpPlan plan, int from, int to) {
        return plan.path(from, to).backend().equals(IpcNvlinkProvider.ID);
    }

    private static boolean byPci(EpPlan plan, int a, int b) {
        Optional<GpuPath> path =
                NvlinkOffer.path(plan.profiles().get(a), plan.profiles().get(b));
        return path.isPresent() && !path.get().gpuLinks();
    }

    private void check(Pair pair, int number, Exposure exposure, PeerOrdering test) {
        boolean first = context.rank() == pair.first();
        if (!first && context.rank() != pair.second()) {
            return;
        }
        DeviceMemory own = exposure.memory(context.rank());
        DeviceMemory peer = exposure.memory(first ? pair.second() : pair.first());
        test.check(own, peer, first, number, rounds, WAIT).ifPresent(wrong -> {
            throw new EpUnavailableException("PCIe from " + collective.label(pair.first()) + " to "
                    + collective.label(pair.second()) + " does not keep the order of writes: " + wrong + "; set "
                    + EpKeys.EXCLUDE.name() + " to " + IpcNvlinkProvider.ID
                    + ", or turn off relaxed ordering and ACS redirection of the switches between these GPUs");
        });
    }
}
