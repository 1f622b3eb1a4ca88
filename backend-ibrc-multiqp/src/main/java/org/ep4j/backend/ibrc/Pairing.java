package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PairPath;
import org.ep4j.topology.NicReach;

/**
 * Which ports two ranks use and how many lanes they have; the same seen from both ends. Lane {@code i} is on rail {@code i %
 * rails}, as in the plan. A rail joins ports of one network.
 *
 * @param mine ports of this rank, by rail
 * @param theirs ports of the peer, by rail
 * @param lanes number of queue pairs, a multiple of the rails
 */
record Pairing(List<String> mine, List<String> theirs, int lanes) {
    Pairing {
        mine = List.copyOf(mine);
        theirs = List.copyOf(theirs);
    }

    /** Of two ranks of a plan that the backend connects. */
    static Pairing of(EpPlan plan, int rank, int peer, EpConfig config) {
        int lower = Math.min(rank, peer);
        int higher = Math.max(rank, peer);
        Map<String, List<String>> lowers = ports(plan, lower, higher);
        Map<String, List<String>> highers = ports(plan, higher, lower);
        requirePorts(plan, lower, lowers);
        requirePorts(plan, higher, highers);
        List<Pair> all = meet(lowers, highers);
        int most = config.get(IbrcKeys.PORTS);
        int rails = most > 0 ? Math.min(most, all.size()) : all.size();
        List<String> ofLower = all.stream().limit(rails).map(Pair::lower).toList();
        List<String> ofHigher = all.stream().limit(rails).map(Pair::higher).toList();
        int wanted = config.get(IbrcKeys.QUEUE_PAIRS);
        int lanes = wanted > 0
                ? wanted * rails
                : Math.max(plan.path(rank, peer).lanes(), plan.path(peer, rank).lanes());
        return new Pairing(
                rank == lower ? ofLower : ofHigher,
                rank == lower ? ofHigher : ofLower,
                (lanes + rails - 1) / rails * rails);
    }

    /** Ports that are connected, of the rank with the lower and of that with the higher number. */
    private record Pair(String lower, String higher) {}

    /** Ports in the plan's order, by network. */
    private static Map<String, List<String>> ports(EpPlan plan, int from, int to) {
        PairPath path = plan.path(from, to);
        List<String> nics = path.backend().equals(IbrcProvider.ID) ? path.nics() : plan.nics(from);
        Map<String, String> networks = new HashMap<>();
        for (NicReach nic : plan.profiles().get(from).locality().nics()) {
            nic.ports().forEach(port -> networks.put(nic.name() + ":" + port.number(), port.network()));
        }
        Map<String, List<String>> ports = new LinkedHashMap<>();
        for (String port : nics) {
            ports.computeIfAbsent(networks.getOrDefault(port, ""), k -> new ArrayList<>())
                    .add(port);
        }
        return ports;
    }

    private static void requirePorts(EpPlan plan, int rank, Map<String, List<String>> ports) {
        if (ports.isEmpty()) {
            throw new EpUnavailableException(
                    "the plan gives " + plan.profiles().get(rank).label() + " no NIC for " + IbrcProvider.ID
                            + "; see ./ep plan, and the settings ep.nic.include and ep.nic.map");
        }
    }

    /** Ports meet in the networks that both ranks have; where they have none in common, they have to be joined by routers. */
    private static List<Pair> meet(Map<String, List<String>> lower, Map<String, List<String>> higher) {
        List<Pair> rails = new ArrayList<>();
        lower.forEach((network, ports) -> {
            List<String> others = higher.get(network);
            if (others != null) {
                rails.addAll(meet(ports, others));
            }
        });
        return rails.isEmpty() ? meet(all(lower), all(higher)) : rails;
    }

    private static List<String> all(Map<String, List<String>> ports) {
        return ports.values().stream().flatMap(List::stream).toList();
    }

    private static List<Pair> meet(List<String> lower, List<String> higher) {
        List<Pair> rails = new ArrayList<>();
        int most = Math.max(lower.size(), higher.size());
        for (int i = 0; i < most; i++) {
            rails.add(new Pair(lower.get(i % lower.size()), higher.get(i % higher.size())));
        }
        return rails;
    }

    int rails() {
        return mine.size();
    }

    /** True when the backend connects two ranks of a plan. */
    static boolean connects(EpPlan plan, int rank, int peer) {
        return rank != peer
                && (plan.backend(rank, peer).equals(IbrcProvider.ID)
                        || plan.backend(peer, rank).equals(IbrcProvider.ID));
    }
}
