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
import org.ep4j.config.EpKeys;
import org.ep4j.engine.gpu.FarNics;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.EpPlan.PairGroup;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.PortPairing;
import org.ep4j.plan.PortPairing.Meeting;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.GpuPaths;
import org.ep4j.plan.offer.NicPath;
import org.ep4j.topology.NicReach;

/** The paths of a plan as rows of a report. */
final class PlanPaths {
    /** The backend that pairs ports by {@link PortPairing}. */
    private static final String PAIRING_BACKEND = "ibrc-multiqp";

    /** Maximum number of pairs that are paired to find examples; a cluster may have one network per host. */
    private static final int MOST_TRIED = 1000;

    private PlanPaths() {}

    /** Backends by rank and peer, for the ranks of the first two hosts. */
    static List<List<String>> table(EpPlan plan) {
        int[] hosts = plan.hostIndex();
        List<Integer> shown = new ArrayList<>();
        for (int rank = 0; rank < hosts.length; rank++) {
            if (hosts[rank] < 2) {
                shown.add(rank);
            }
        }
        List<List<String>> rows = new ArrayList<>();
        for (int from : shown) {
            if (hosts[from] == 0) {
                rows.add(shown.stream()
                        .map(to -> from == to ? "" : plan.path(from, to).backend())
                        .toList());
            }
        }
        return rows;
    }

    static List<PlanReport.Paths> groups(EpPlan plan) {
        List<PlanReport.Paths> rows = new ArrayList<>();
        for (PairGroup group : plan.groups()) {
            PairPath path = group.example();
            rows.add(new PlanReport.Paths(
                    group.pairs(),
                    path.from(),
                    path.to(),
                    path.backend(),
                    path.offer().kind().name().toLowerCase(Locale.ROOT).replace('_', '-'),
                    path.offer().gigabytesPerSecond(),
                    path.offer().sharers(),
                    path.offer().latencyMicros(),
                    path.offer().staged(),
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

    private static String note(EpPlan plan, PairPath path) {
        if (path.offer().staged()) {
            return "bytes take a detour through host memory";
        }
        Optional<GpuPath> way = GpuPaths.between(
                plan.profiles().get(path.from()), plan.profiles().get(path.to()));
        boolean pci = way.filter(found -> !found.gpuLinks()).isPresent();
        return pci && path.nics().isEmpty()
                ? "PCIe peer-to-peer: trust this path only after a self-test of the order of writes; IOMMU and ACS can break peer-to-peer"
                : "";
    }

    /** NICs of the ranks of the first host. */
    static List<PlanReport.RankNics> nics(EpPlan plan) {
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
     * How the ranks of the first host post to NICs, in the order of ranks.
     *
     * @param wanted {@link EpKeys#WINDOW}
     */
    static List<PlanReport.Posting> posting(EpPlan plan, String wanted) {
        Map<PlanReport.Posting, List<Integer>> alike = new LinkedHashMap<>();
        for (int rank : plan.hostRanks(0)) {
            Set<PlanReport.Posting> own = new LinkedHashSet<>();
            Set<Integer> kinds = new HashSet<>();
            String memory = memory(plan, rank, wanted);
            for (int to = 0; to < plan.ranks(); to++) {
                if (to == rank || !kinds.add(plan.kind(rank, to))) {
                    continue;
                }
                PairPath path = plan.path(rank, to);
                boolean byGpu = path.offer().kind() == PathKind.DEVICE_POSTED
                        && !path.offer().nics().isEmpty();
                if (byGpu || path.offer().kind() == PathKind.HOST_POSTED) {
                    own.add(new PlanReport.Posting(
                            path.backend(),
                            List.of(),
                            path.nics().size(),
                            byGpu ? 0 : plan.proxies(rank),
                            byGpu ? "GPU, which posts itself" : memory,
                            path.offer().flow()));
                }
            }
            own.forEach(posting ->
                    alike.computeIfAbsent(posting, k -> new ArrayList<>()).add(rank));
        }
        return alike.entrySet().stream()
                .map(entry -> new PlanReport.Posting(
                        entry.getKey().backend(),
                        entry.getValue(),
                        entry.getKey().nics(),
                        entry.getKey().proxies(),
                        entry.getKey().memory(),
                        entry.getKey().flow()))
                .toList();
    }

    /** By which memory a rank exchanges. Whether drivers register that of a GPU is found when the group is joined. */
    private static String memory(EpPlan plan, int rank, String wanted) {
        String device = plan.profiles().get(rank).device().type();
        if (device.equals("host")) {
            return "host";
        }
        if (!wanted.equals("auto")) {
            return (wanted.equals("host") ? "host, pinned" : "GPU") + " (" + EpKeys.WINDOW.name() + ")";
        }
        if (device.equals("hip")) {
            return "host, pinned; GPU by " + EpKeys.WINDOW.name() + "=device";
        }
        return FarNics.first(plan, rank)
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
     * What is to be said of pairs whose ports are in networks that no known route joins: an example of each kind. Only a backend
     * that pairs ports by network has such.
     */
    static List<String> apart(EpPlan plan) {
        Map<Set<String>, Integer> first = new LinkedHashMap<>();
        Map<Set<String>, Integer> last = new LinkedHashMap<>();
        for (int rank = 0; rank < plan.ranks(); rank++) {
            Set<String> networks = networks(plan, rank);
            if (!networks.isEmpty() && !networks.contains("")) {
                first.putIfAbsent(networks, rank);
                last.put(networks, rank);
            }
        }
        Map<Meeting, String> found = new EnumMap<>(Meeting.class);
        int tried = 0;
        for (Map.Entry<Set<String>, Integer> one : first.entrySet()) {
            for (Map.Entry<Set<String>, Integer> other : last.entrySet()) {
                int rank = one.getValue();
                int peer = other.getValue();
                boolean paired = Collections.disjoint(one.getKey(), other.getKey())
                        && plan.path(rank, peer).backend().equals(PAIRING_BACKEND);
                if (paired && tried++ < MOST_TRIED) {
                    PortPairing pairing = PortPairing.of(plan, rank, peer, PAIRING_BACKEND, (profile, port) -> true);
                    if (pairing.meeting() != Meeting.PLANNED) {
                        found.putIfAbsent(pairing.meeting(), apart(plan, rank, peer, pairing));
                    }
                }
            }
        }
        return List.copyOf(found.values());
    }

    private static String apart(EpPlan plan, int rank, int peer, PortPairing pairing) {
        String pair = "no known route joins the networks of " + ports(plan, rank) + " and of " + ports(plan, peer);
        return pairing.meeting() == Meeting.NONE
                ? pair + ": connecting such ranks fails unless a router joins the networks"
                : pair
                        + ": such pairs of ranks use ports that share a network but are farther from one of the two ranks, here "
                        + pairing.lower().get(0) + " and " + pairing.higher().get(0);
    }

    private static String ports(EpPlan plan, int rank) {
        return "rank " + rank + "'s " + String.join(", ", plan.nics(rank)) + " ("
                + String.join(", ", networks(plan, rank)) + ")";
    }

    private static Set<String> networks(EpPlan plan, int rank) {
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
