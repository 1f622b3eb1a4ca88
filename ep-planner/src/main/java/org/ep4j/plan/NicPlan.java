package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.plan.NicAssignment.Request;
import org.ep4j.plan.NicAssignment.Share;
import org.ep4j.plan.PairKinds.Role;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach.LinkLayer;

/** NIC ports of every rank for every backend that needs some: host by host, like hosts once. */
final class NicPlan {
    private final List<RankProfile> profiles;
    private final List<NicSelection> selections;
    private final PairKinds kinds;
    private final List<Decision> decisions;
    private final Map<Role, Map<String, List<String>>> candidates = new HashMap<>();
    private final Map<List<Object>, List<Share>> like = new HashMap<>();
    private final Map<String, NicNetwork> networks = new HashMap<>();

    private NicPlan(
            List<RankProfile> profiles, List<NicSelection> selections, PairKinds kinds, List<Decision> decisions) {
        this.profiles = profiles;
        this.selections = selections;
        this.kinds = kinds;
        this.decisions = decisions;
    }

    /** Assigns ports: by rank, shares by backend. */
    static List<SortedMap<String, Share>> of(
            List<RankProfile> profiles, List<NicSelection> selections, PairKinds kinds, List<Decision> decisions) {
        return new NicPlan(profiles, selections, kinds, decisions).assign();
    }

    private List<SortedMap<String, Share>> assign() {
        Map<String, List<Integer>> hosts = new LinkedHashMap<>();
        for (RankProfile profile : profiles) {
            hosts.computeIfAbsent(profile.hostId(), k -> new ArrayList<>()).add(profile.rank());
        }
        findNetworks();
        List<SortedMap<String, Share>> shares = new ArrayList<>();
        profiles.forEach(profile -> shares.add(new TreeMap<>()));
        for (List<Integer> ranks : hosts.values()) {
            ranks.sort(Comparator.comparingInt((Integer rank) -> NicSelection.gpu(profiles.get(rank)))
                    .thenComparing(Comparator.naturalOrder()));
            Map<String, List<Integer>> users = new TreeMap<>();
            for (int rank : ranks) {
                candidates(kinds.role(rank))
                        .keySet()
                        .forEach(id -> users.computeIfAbsent(id, k -> new ArrayList<>())
                                .add(rank));
            }
            users.forEach((id, using) -> assign(id, using, shares));
        }
        Map<SortedMap<String, Share>, SortedMap<String, Share>> once = new HashMap<>();
        return shares.stream()
                .map(share -> once.computeIfAbsent(share, same -> same))
                .toList();
    }

    /** Ranks of one role see the same, so each role votes once for every rank there. */
    private void findNetworks() {
        Map<Role, List<Integer>> roles = new LinkedHashMap<>();
        profiles.forEach(profile -> roles.computeIfAbsent(kinds.role(profile.rank()), k -> new ArrayList<>())
                .add(profile.rank()));
        roles.forEach((role, ranks) -> candidates(role)
                .forEach((id, nics) -> networks.computeIfAbsent(id, k -> new NicNetwork())
                        .add(nics, selections.get(ranks.get(0)).locality(), ranks.size())));
    }

    /** Candidates on the network of the group; what the user fixed stays as it is. */
    private List<String> onNetwork(String backend, int rank) {
        List<String> nics = candidates(kinds.role(rank)).getOrDefault(backend, List.of());
        NicNetwork network = networks.get(backend);
        return network == null || selections.get(rank).fixed()
                ? nics
                : network.narrow(nics, selections.get(rank).locality());
    }

    private void assign(String backend, List<Integer> ranks, List<SortedMap<String, Share>> shares) {
        List<Object> shape = new ArrayList<>(List.of(backend));
        // Ranks of one role have the same machine around them, the same choices and the same offers.
        ranks.forEach(rank -> shape.add(kinds.role(rank)));
        List<Share> assigned = like.computeIfAbsent(
                shape,
                k -> NicAssignment.assign(ranks.stream()
                        .map(rank -> new Request(
                                selections.get(rank).locality(),
                                onNetwork(backend, rank),
                                selections.get(rank).fixed()))
                        .toList()));
        for (int i = 0; i < assigned.size(); i++) {
            Share share = assigned.get(i);
            boolean limited =
                    selections.get(ranks.get(i)).limits() && !share.reason().isEmpty();
            String reason = share.reason() + (limited ? "; chosen among the ports that the settings allow" : "");
            shares.get(ranks.get(i)).put(backend, new Share(share.ports(), reason));
        }
    }

    /** Ports that every path of a rank over a backend could use; all ports of them when no port is common to all. */
    private Map<String, List<String>> candidates(Role role) {
        return candidates.computeIfAbsent(role, k -> {
            Map<String, Set<String>> common = new TreeMap<>();
            Map<String, Set<String>> all = new TreeMap<>();
            for (int kind : role.from()) {
                Decision decision = decisions.get(kind);
                List<String> nics = decision.offer().nics();
                if (!nics.isEmpty()) {
                    common.computeIfAbsent(decision.backend(), id -> new LinkedHashSet<>(nics))
                            .retainAll(nics);
                    all.computeIfAbsent(decision.backend(), id -> new LinkedHashSet<>())
                            .addAll(nics);
                }
            }
            Map<String, List<String>> result = new TreeMap<>();
            common.forEach((id, nics) ->
                    result.put(id, List.copyOf(nics.isEmpty() ? all.getOrDefault(id, Set.of()) : nics)));
            return result;
        });
    }

    /**
     * The network that all ranks of a backend use where some of them have ports of two kinds: InfiniBand does not speak to
     * Ethernet. Of those that every rank has, it is the one that is nearest for most ranks, then the one with more bandwidth,
     * then InfiniBand.
     */
    private static final class NicNetwork {
        private final Set<LinkLayer> everywhere = EnumSet.of(LinkLayer.INFINIBAND, LinkLayer.ETHERNET);
        private final Map<LinkLayer, Long> nearestFor = new EnumMap<>(LinkLayer.class);
        private final Map<LinkLayer, Double> bandwidth = new EnumMap<>(LinkLayer.class);

        /** Adds {@code count} ranks that see the same ports. */
        void add(List<String> nics, Locality locality, long count) {
            List<PortView> views = PortView.of(nics, locality);
            Set<LinkLayer> layers = views.stream().map(NicNetwork::layer).collect(Collectors.toSet());
            if (layers.contains(LinkLayer.UNSPECIFIED)) {
                // It may be of any kind.
                return;
            }
            everywhere.retainAll(layers);
            int nearest = views.stream().mapToInt(PortView::nearness).min().orElse(0);
            for (LinkLayer layer : layers) {
                List<PortView> own =
                        views.stream().filter(view -> layer(view) == layer).toList();
                if (own.stream().anyMatch(view -> view.nearness() == nearest)) {
                    nearestFor.merge(layer, count, Long::sum);
                }
                double sum = own.stream().mapToDouble(PortView::estimate).sum();
                bandwidth.merge(layer, count * sum, Double::sum);
            }
        }

        /** Returns a rank's candidates on the network; all when ranks have none in common. */
        List<String> narrow(List<String> nics, Locality locality) {
            Optional<LinkLayer> network = everywhere.stream()
                    .max(Comparator.comparingLong((LinkLayer layer) -> nearestFor.getOrDefault(layer, 0L))
                            .thenComparingDouble(layer -> bandwidth.getOrDefault(layer, 0.0))
                            .thenComparing(Comparator.reverseOrder()));
            List<PortView> views = PortView.of(nics, locality);
            List<String> narrowed = IntStream.range(0, nics.size())
                    .filter(nic -> {
                        LinkLayer layer = layer(views.get(nic));
                        return layer == LinkLayer.UNSPECIFIED
                                || network.filter(layer::equals).isPresent();
                    })
                    .mapToObj(nics::get)
                    .toList();
            return narrowed.isEmpty() ? nics : narrowed;
        }

        private static LinkLayer layer(PortView view) {
            return view.fabric().layer();
        }
    }
}
