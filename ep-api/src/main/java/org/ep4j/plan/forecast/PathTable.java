package org.ep4j.plan.forecast;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.RankProfile;

/**
 * The {@link PathTraits} of all pairs of a plan, numbered. Ranks at equal places of equal hosts have equal paths, so that
 * thousands of ranks cost no more questions to the plan than the places there are.
 */
final class PathTable {
    private static final int OTHER = 0;
    private static final int SAME_HOST = 1;
    private static final int SAME_DOMAIN = 2;
    private static final int RELATIONS = 3;

    private final EpPlan plan;
    private final int[] hosts;
    private final int[] domains;
    private final int[] places;
    private final int placeCount;
    private final int[] known;
    private final List<PathTraits> traits = new ArrayList<>();
    private final Map<PathTraits, Integer> numbers = new HashMap<>();

    PathTable(EpPlan plan) {
        this.plan = plan;
        this.hosts = plan.hostIndex();
        this.domains = new int[plan.ranks()];
        this.places = new int[plan.ranks()];
        Map<String, Integer> domainNumbers = new HashMap<>();
        Map<Object, Integer> placeNumbers = new HashMap<>();
        for (RankProfile profile : plan.profiles()) {
            int rank = profile.rank();
            domains[rank] = profile.domain().isEmpty() ? -1 : number(domainNumbers, profile.domain());
            // The pid of a rank, its number and its host's name make no difference to any path.
            Object place = List.of(
                    profile.device().type(),
                    profile.locality(),
                    plan.nics(rank),
                    profile.domain().isEmpty());
            places[rank] = number(placeNumbers, place);
        }
        placeCount = placeNumbers.size();
        known = new int[placeCount * placeCount * RELATIONS];
    }

    private static <K> int number(Map<K, Integer> numbers, K key) {
        Integer old = numbers.putIfAbsent(key, numbers.size());
        return old == null ? numbers.size() - 1 : old;
    }

    int[] hosts() {
        return hosts;
    }

    /** True when two ranks may have mapped memory: they share a host or an NVLink domain. */
    boolean near(int a, int b) {
        return relation(a, b) != OTHER;
    }

    /** Number of the traits of a pair of different ranks. */
    int index(int from, int to) {
        int at = (places[from] * placeCount + places[to]) * RELATIONS + relation(from, to);
        if (known[at] == 0) {
            PathTraits found = PathTraits.of(plan, from, to);
            int number = number(numbers, found);
            if (number == traits.size()) {
                traits.add(found);
            }
            known[at] = number + 1;
        }
        return known[at] - 1;
    }

    PathTraits traits(int from, int to) {
        return traits.get(index(from, to));
    }

    PathTraits traits(int index) {
        return traits.get(index);
    }

    private int relation(int a, int b) {
        if (hosts[a] == hosts[b]) {
            return SAME_HOST;
        }
        return domains[a] >= 0 && domains[a] == domains[b] ? SAME_DOMAIN : OTHER;
    }
}
