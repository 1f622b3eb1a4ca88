package org.ep4j.plan;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.stream.Stream;
import org.ep4j.EpPath;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.NicReach;

/**
 * The ports of one rank and the ports of another that they are connected to, in the order of the rails; both ranks
 * compute the same pairing. A rail joins ports of one network.
 *
 * @param lower ports of the rank with the lower number
 * @param higher ports of the other, as many
 * @param match whether the ports of the two are in one network
 * @param networks networks of the ports that the plan gives them, first of the lower rank, then of the other
 */
public record PortPairing(List<String> lower, List<String> higher, NetworkMatch match, List<String> networks) {
    /** Relation of the networks of the connected ports. */
    public enum NetworkMatch {
        /** Ports that the plan gives them are in one network, or their networks are unknown. */
        PLANNED,
        /** None of these are in one network, so one rank takes a farther port, or both. */
        FARTHER,
        /** They have no network in common: unless routers join them that the routing tables do not name, connecting fails. */
        NONE
    }

    public PortPairing {
        lower = List.copyOf(lower);
        higher = List.copyOf(higher);
        networks = List.copyOf(networks);
    }

    private record Pair(String lower, String higher) {}

    /**
     * Pairs the ports of two ranks, if possible ports of the same network; the result is the same on both ranks.
     *
     * @param backend what connects the two
     * @param usable whether the backend can use a port of a rank, {@code name:port}, which the plan does not give it
     */
    public static PortPairing of(
            GroupPlan plan, int rank, int peer, String backend, BiPredicate<RankProfile, String> usable) {
        int low = Math.min(rank, peer);
        int high = Math.max(rank, peer);
        Map<String, List<String>> lower = byNetwork(plan, low, planned(plan, low, high, backend));
        Map<String, List<String>> higher = byNetwork(plan, high, planned(plan, high, low, backend));
        Set<String> networks = new LinkedHashSet<>(lower.keySet());
        networks.addAll(higher.keySet());
        NetworkMatch match = NetworkMatch.PLANNED;
        List<Pair> pairs = paired(lower, higher);
        if (pairs.isEmpty() && !networks.contains("")) {
            Map<String, List<String>> allLower = byNetwork(plan, low, others(plan, low, lower, usable));
            Map<String, List<String>> allHigher = byNetwork(plan, high, others(plan, high, higher, usable));
            match = NetworkMatch.FARTHER;
            // One of them keeps its port where it can; which one is the same for all pairs of two hosts, so load stays
            // even.
            int most = Math.max(flat(lower).size(), flat(higher).size());
            pairs = Stream.of(paired(lower, allHigher), paired(allLower, higher), paired(allLower, allHigher))
                    .filter(some -> !some.isEmpty())
                    .findFirst()
                    .map(some -> some.subList(0, Math.min(most, some.size())))
                    .orElse(List.of());
        }
        if (pairs.isEmpty()) {
            match = networks.contains("") ? NetworkMatch.PLANNED : NetworkMatch.NONE;
            pairs = all(flat(lower), flat(higher));
        }
        return new PortPairing(
                pairs.stream().map(Pair::lower).toList(),
                pairs.stream().map(Pair::higher).toList(),
                match,
                List.copyOf(networks));
    }

    private static List<String> planned(GroupPlan plan, int from, int to, String backend) {
        EpPath path = plan.path(from, to);
        return path.backend().equals(backend) ? path.nics() : plan.nics(from);
    }

    /** Ports that the choice of a rank allows, nearest first, with the link layer of its planned ones. */
    private static List<String> others(
            GroupPlan plan, int rank, Map<String, List<String>> planned, BiPredicate<RankProfile, String> usable) {
        RankProfile profile = plan.profiles().get(rank);
        Set<NicReach.LinkLayer> layers = EnumSet.noneOf(NicReach.LinkLayer.class);
        List<String> names = flat(planned);
        for (NicReach nic : profile.locality().nics()) {
            nic.ports().stream()
                    .filter(port -> names.contains(nic.name() + ":" + port.number()))
                    .forEach(port -> layers.add(port.linkLayer()));
        }
        List<String> found = new ArrayList<>();
        NicChoice choice = NicChoice.of(profile, plan.options().nics());
        for (NicReach nic : choice.narrow(profile.locality(), profile.device()).nics()) {
            for (NicReach.Port port : nic.ports()) {
                String name = nic.name() + ":" + port.number();
                if (layers.contains(port.linkLayer()) && nic.family().rdma() && usable.test(profile, name)) {
                    found.add(name);
                }
            }
        }
        return found;
    }

    private static Map<String, List<String>> byNetwork(GroupPlan plan, int rank, List<String> ports) {
        Map<String, String> networks = new HashMap<>();
        for (NicReach nic : plan.profiles().get(rank).locality().nics()) {
            nic.ports().forEach(port -> networks.put(nic.name() + ":" + port.number(), port.network()));
        }
        Map<String, List<String>> found = new LinkedHashMap<>();
        for (String port : ports) {
            found.computeIfAbsent(networks.getOrDefault(port, ""), k -> new ArrayList<>())
                    .add(port);
        }
        return found;
    }

    /** Pairs of ports in the networks that both ranks have. */
    private static List<Pair> paired(Map<String, List<String>> lower, Map<String, List<String>> higher) {
        List<Pair> pairs = new ArrayList<>();
        lower.forEach((network, ports) -> {
            List<String> others = higher.get(network);
            if (others != null) {
                pairs.addAll(all(ports, others));
            }
        });
        return pairs;
    }

    private static List<String> flat(Map<String, List<String>> ports) {
        return ports.values().stream().flatMap(List::stream).toList();
    }

    private static List<Pair> all(List<String> lower, List<String> higher) {
        List<Pair> pairs = new ArrayList<>();
        for (int i = 0; i < Math.max(lower.size(), higher.size()) && !lower.isEmpty() && !higher.isEmpty(); i++) {
            pairs.add(new Pair(lower.get(i % lower.size()), higher.get(i % higher.size())));
        }
        return pairs;
    }
}
