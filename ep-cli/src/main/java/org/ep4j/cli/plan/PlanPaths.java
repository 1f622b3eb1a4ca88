package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.ep4j.EpPath;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.GroupPlan.PairGroup;
import org.ep4j.plan.PortPairing;
import org.ep4j.plan.PortPairing.NetworkMatch;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.NicPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.NicReach;

/** The paths of a plan as rows of a report. */
final class PlanPaths {
    /** The backend that pairs ports by {@link PortPairing}. */
    private static final String PAIRING_BACKEND = "ibrc-multiqp";

    /** Maximum number of pairs that are paired to find examples; a cluster may have one network per host. */
    private static final int MOST_TRIED = 1000;

    private PlanPaths() {}

    /** Returns backends by rank and peer, for the ranks of the first two hosts. */
    static List<List<String>> table(GroupPlan plan) {
        List<Integer> shown = IntStream.range(0, plan.ranks())
                .filter(rank -> plan.host(rank) < 2)
                .boxed()
                .toList();
        List<List<String>> rows = new ArrayList<>();
        for (int from : shown) {
            if (plan.host(from) == 0) {
                rows.add(shown.stream()
                        .map(to -> from == to ? "" : plan.path(from, to).backend())
                        .toList());
            }
        }
        return rows;
    }

    static List<PlanReport.Paths> groups(GroupPlan plan) {
        List<PlanReport.Paths> rows = new ArrayList<>();
        for (PairGroup group : plan.groups()) {
            EpPath path = group.example();
            Offer offer = plan.offer(path.from(), path.to());
            rows.add(new PlanReport.Paths(
                    group.pairs(),
                    path.from(),
                    path.to(),
                    path.backend(),
                    path.kind().name().toLowerCase(Locale.ROOT).replace('_', '-'),
                    path.gigabytesPerSecond(),
                    offer.sharers(),
                    path.latencyMicros(),
                    path.staged(),
                    path.lanes(),
                    path.nics(),
                    note(plan, path),
                    path.rejected(),
                    path.rejected().stream()
                            .map(PlanReport.Paths::backendOf)
                            .filter(backend -> !plan.applies(backend))
                            .toList()));
        }
        return rows;
    }

    private static String note(GroupPlan plan, EpPath path) {
        if (path.staged()) {
            return "bytes take a detour through host memory";
        }
        Optional<GpuPath> way = GpuPath.between(
                plan.profiles().get(path.from()), plan.profiles().get(path.to()));
        boolean pci = way.filter(found -> !found.gpuLinks()).isPresent();
        return pci && path.nics().isEmpty()
                ? "PCIe peer-to-peer: trust this path only after a self-test of the order of writes; IOMMU and ACS can break peer-to-peer"
                : "";
    }

    /** Returns the NICs of the ranks of the first host. */
    static List<PlanReport.RankNics> nics(GroupPlan plan) {
        List<PlanReport.RankNics> rows = new ArrayList<>();
        for (int rank : plan.hostRanks(0)) {
            RankProfile profile = plan.profiles().get(rank);
            rows.add(new PlanReport.RankNics(
                    rank,
                    profile.device().toString(),
                    profile.locality().numa(),
                    plan.nics(rank).stream()
                            .map(port -> describe(profile, port))
                            .toList(),
                    plan.nicReason(rank)));
        }
        return rows;
    }

    /**
     * Returns how the ranks of the first host post to NICs, in the order of ranks.
     *
     * @param wanted {@link EpKeys#GPU_WINDOW}
     */
    static List<PlanReport.Posting> posting(GroupPlan plan, String wanted) {
        Map<PlanReport.Posting, List<Integer>> alike = new LinkedHashMap<>();
        for (int rank : plan.hostRanks(0)) {
            Set<PlanReport.Posting> own = new LinkedHashSet<>();
            Set<Integer> kinds = new HashSet<>();
            String memory = memory(plan, rank, wanted);
            for (int to = 0; to < plan.ranks(); to++) {
                if (to == rank || !kinds.add(plan.kind(rank, to))) {
                    continue;
                }
                EpPath path = plan.path(rank, to);
                boolean byGpu = path.kind() == EpPath.Kind.DEVICE_POSTED
                        && !path.offeredNics().isEmpty();
                if (byGpu || path.kind() == EpPath.Kind.HOST_POSTED) {
                    own.add(new PlanReport.Posting(
                            path.backend(),
                            List.of(),
                            path.nics().size(),
                            byGpu ? 0 : plan.proxies(rank),
                            byGpu ? "GPU, which posts itself" : memory,
                            plan.offer(rank, to).flow()));
                }
            }
            own.forEach(posting ->
                    alike.computeIfAbsent(posting, k -> new ArrayList<>()).add(rank));
        }
        return alike.entrySet().stream()
                .map(entry -> entry.getKey().withRanks(entry.getValue()))
                .toList();
    }

    /** Returns the memory by which a rank exchanges. Whether drivers register GPU memory is found when the group is joined. */
    private static String memory(GroupPlan plan, int rank, String wanted) {
        String device = plan.profiles().get(rank).device().type();
        if (device.equals("host")) {
            return "host";
        }
        if (plan.pathKinds(rank).contains(EpPath.Kind.DEVICE_POSTED)) {
            return "GPU, from which kernels post to other peers";
        }
        if (!wanted.equals("auto")) {
            return (wanted.equals("host") ? "host, pinned" : "GPU") + " (" + EpKeys.GPU_WINDOW.name() + ")";
        }
        if (device.equals("hip")) {
            return "host, pinned; GPU by " + EpKeys.GPU_WINDOW.name() + "=device";
        }
        return plan.farNic(rank)
                .map(nic -> "host, pinned: " + nic.name() + " is far ("
                        + nic.distance().type() + ")")
                .orElse(plan.nics(rank).isEmpty() ? "host, pinned: no NIC" : "GPU, where NICs register it");
    }

    private static String describe(RankProfile profile, String port) {
        for (NicReach nic : profile.locality().nics()) {
            for (NicReach.Port one : nic.ports()) {
                if (new NicPath(nic, one, true).name().equals(port)) {
                    return port + " " + nic.distance().type()
                            + (one.gigabitsPerSecond() > 0
                                    ? String.format(Locale.ROOT, " %.0fG", one.gigabitsPerSecond())
                                    : "");
                }
            }
        }
        return port;
    }

    /**
     * Returns remarks on pairs whose ports are in networks that no known route joins: an example of each kind. Only a backend
     * that pairs ports by network has such.
     */
    static List<String> apart(GroupPlan plan) {
        Map<Set<String>, Integer> first = new LinkedHashMap<>();
        Map<Set<String>, Integer> last = new LinkedHashMap<>();
        for (int rank = 0; rank < plan.ranks(); rank++) {
            Set<String> networks = networks(plan, rank);
            if (!networks.isEmpty() && !networks.contains("")) {
                first.putIfAbsent(networks, rank);
                last.put(networks, rank);
            }
        }
        Map<NetworkMatch, String> found = new EnumMap<>(NetworkMatch.class);
        int tried = 0;
        for (Map.Entry<Set<String>, Integer> one : first.entrySet()) {
            for (Map.Entry<Set<String>, Integer> other : last.entrySet()) {
                int rank = one.getValue();
                int peer = other.getValue();
                boolean paired = Collections.disjoint(one.getKey(), other.getKey())
                        && plan.path(rank, peer).backend().equals(PAIRING_BACKEND);
                if (paired && tried++ < MOST_TRIED) {
                    PortPairing pairing = PortPairing.of(plan, rank, peer, PAIRING_BACKEND, (profile, port) -> true);
                    if (pairing.match() != NetworkMatch.PLANNED) {
                        found.putIfAbsent(pairing.match(), apart(plan, rank, peer, pairing));
                    }
                }
            }
        }
        return List.copyOf(found.values());
    }

    private static String apart(GroupPlan plan, int rank, int peer, PortPairing pairing) {
        String pair = "no known route joins the networks of " + ports(plan, rank) + " and of " + ports(plan, peer);
        return pairing.match() == NetworkMatch.NONE
                ? pair + ": connecting such ranks fails unless a router joins the networks"
                : pair
                        + ": such pairs of ranks use ports that share a network but are farther from one of the two ranks, here "
                        + pairing.lower().get(0) + " and " + pairing.higher().get(0);
    }

    private static String ports(GroupPlan plan, int rank) {
        return "rank " + rank + "'s " + String.join(", ", plan.nics(rank)) + " ("
                + String.join(", ", networks(plan, rank)) + ")";
    }

    private static Set<String> networks(GroupPlan plan, int rank) {
        List<String> ports = plan.nics(rank);
        Set<String> found = new TreeSet<>();
        for (NicReach nic : plan.profiles().get(rank).locality().nics()) {
            for (NicReach.Port port : nic.ports()) {
                if (nic.family().rdma() && ports.contains(nic.name() + ":" + port.number())) {
                    found.add(port.network());
                }
            }
        }
        return found;
    }
}
