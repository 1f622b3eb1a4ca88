package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.ep4j.plan.PairKinds.Place;

/** NIC ports of every rank for every backend that needs some: host by host, like hosts once. */
final class NicPlan {
    private final List<RankProfile> profiles;
    private final List<NicRules> rules;
    private final PairKinds kinds;
    private final List<Decision> decisions;
    private final Map<Place, Map<String, List<String>>> candidates = new HashMap<>();
    private final Map<List<Object>, List<NicShare>> like = new HashMap<>();
    private final Map<String, NicNetwork> networks = new HashMap<>();

    private NicPlan(List<RankProfile> profiles, List<NicRules> rules, PairKinds kinds, List<Decision> decisions) {
        this.profiles = profiles;
        this.rules = rules;
        this.kinds = kinds;
        this.decisions = decisions;
    }

    /**
     * Assigns.
     *
     * @param rules wishes of each rank
     * @param decisions by kind of pair
     * @return shares by backend, for each rank
     */
    static List<Map<String, NicShare>> of(
            List<RankProfile> profiles, List<NicRules> rules, PairKinds kinds, List<Decision> decisions) {
        return new NicPlan(profiles, rules, kinds, decisions).assign();
    }

    private List<Map<String, NicShare>> assign() {
        Map<String, List<Integer>> hosts = new LinkedHashMap<>();
        for (RankProfile profile : profiles) {
            hosts.computeIfAbsent(profile.hostId(), k -> new ArrayList<>()).add(profile.rank());
        }
        findNetworks();
        List<Map<String, NicShare>> shares = new ArrayList<>();
        profiles.forEach(profile -> shares.add(new TreeMap<>()));
        for (List<Integer> ranks : hosts.values()) {
            ranks.sort(Comparator.comparingInt((Integer rank) -> NicRules.gpu(profiles.get(rank)))
                    .thenComparing(Comparator.naturalOrder()));
            Map<String, List<Integer>> users = new TreeMap<>();
            for (int rank : ranks) {
                candidates(kinds.place(rank))
                        .keySet()
                        .forEach(id -> users.computeIfAbsent(id, k -> new ArrayList<>())
                                .add(rank));
            }
            users.forEach((id, using) -> assign(id, using, shares));
        }
        Map<Map<String, NicShare>, Map<String, NicShare>> once = new HashMap<>();
        return shares.stream()
                .map(share -> once.computeIfAbsent(share, Map::copyOf))
                .toList();
    }

    /** Ranks of one place see the same, so each place votes once for every rank there. */
    private void findNetworks() {
        Map<Place, List<Integer>> places = new LinkedHashMap<>();
        profiles.forEach(profile -> places.computeIfAbsent(kinds.place(profile.rank()), k -> new ArrayList<>())
                .add(profile.rank()));
        places.forEach((place, ranks) -> candidates(place)
                .forEach((id, nics) -> networks.computeIfAbsent(id, k -> new NicNetwork())
                        .add(nics, rules.get(ranks.get(0)).locality(), ranks.size())));
    }

    /** Candidates on the network of the group; what the user fixed stays as it is. */
    private List<String> seekable(String backend, int rank) {
        List<String> nics = candidates(kinds.place(rank)).getOrDefault(backend, List.of());
        NicNetwork network = networks.get(backend);
        return network == null || rules.get(rank).fixed()
                ? nics
                : network.narrow(nics, rules.get(rank).locality());
    }

    private void assign(String backend, List<Integer> ranks, List<Map<String, NicShare>> shares) {
        List<Object> shape = new ArrayList<>(List.of(backend));
        // Ranks of one place have the same machine around them, the same wishes and the same offers.
        ranks.forEach(rank -> shape.add(kinds.place(rank)));
        List<NicShare> assigned = like.computeIfAbsent(
                shape,
                k -> NicAssignment.assign(ranks.stream()
                        .map(rank -> new NicSeeker(
                                rules.get(rank).locality(),
                                seekable(backend, rank),
                                rules.get(rank).fixed()))
                        .toList()));
        for (int i = 0; i < assigned.size(); i++) {
            NicShare share = assigned.get(i);
            boolean limited =
                    rules.get(ranks.get(i)).limits() && !share.reason().isEmpty();
            String reason = share.reason() + (limited ? "; chosen among the ports that the settings allow" : "");
            shares.get(ranks.get(i)).put(backend, new NicShare(share.ports(), reason));
        }
    }

    /** Ports that every path of a rank over a backend could use; all ports of them when no port is common to all. */
    private Map<String, List<String>> candidates(Place place) {
        return candidates.computeIfAbsent(place, k -> {
            Map<String, Set<String>> common = new TreeMap<>();
            Map<String, Set<String>> all = new TreeMap<>();
            for (int kind : place.from()) {
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
}
