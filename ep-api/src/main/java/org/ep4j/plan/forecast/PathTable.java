package org.ep4j.plan.forecast;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.RankProfile;

/**
 * The {@link PathTraits} of all pairs of a plan, numbered. Pairs of one kind whose ranks have the same NICs have equal
 * traits, so that thousands of ranks cost no more questions to the plan than the kinds of pairs there are.
 */
final class PathTable {
    private final EpPlan plan;
    private final int[] hosts;
    private final int[] domains;
    private final int[] nics;
    private final long nicCount;
    private final Map<Integer, List<Integer>> onHost = new HashMap<>();
    private final Map<Integer, List<Integer>> inDomain = new HashMap<>();
    private final Map<Long, Integer> known = new HashMap<>();
    private final List<PathTraits> traits = new ArrayList<>();
    private final Map<PathTraits, Integer> numbers = new HashMap<>();

    PathTable(EpPlan plan) {
        this.plan = plan;
        this.hosts = plan.hostIndex();
        this.domains = new int[plan.ranks()];
        this.nics = new int[plan.ranks()];
        Map<String, Integer> domainNumbers = new HashMap<>();
        Map<List<String>, Integer> nicNumbers = new HashMap<>();
        for (RankProfile profile : plan.profiles()) {
            int rank = profile.rank();
            domains[rank] = profile.domain().isEmpty() ? -1 : number(domainNumbers, profile.domain());
            nics[rank] = number(nicNumbers, plan.nics(rank));
            onHost.computeIfAbsent(hosts[rank], k -> new ArrayList<>()).add(rank);
            if (domains[rank] >= 0) {
                inDomain.computeIfAbsent(domains[rank], k -> new ArrayList<>()).add(rank);
            }
        }
        nicCount = nicNumbers.size();
    }

    /** Numbers values in the order in which they first occur. */
    static <K> int number(Map<K, Integer> numbers, K key) {
        Integer old = numbers.putIfAbsent(key, numbers.size());
        return old == null ? numbers.size() - 1 : old;
    }

    int[] hosts() {
        return hosts;
    }

    /** Number of the NICs of a rank; equal for ranks with equal NICs. */
    int nics(int rank) {
        return nics[rank];
    }

    /** Ranks by NICs: what {@link #index} depends on besides the kind of a pair. */
    int[] nics() {
        return nics.clone();
    }

    /** Ranks that may have mapped memory with {@code rank}: those of its host and of its NVLink domain, itself among them. */
    Set<Integer> near(int rank) {
        Set<Integer> near = new TreeSet<>(onHost.getOrDefault(hosts[rank], List.of()));
        near.addAll(inDomain.getOrDefault(domains[rank], List.of()));
        return near;
    }

    /** Number of the traits of a pair of different ranks. */
    int index(int from, int to) {
        long pair = (plan.kind(from, to) * nicCount + nics[from]) * nicCount + nics[to];
        return known.computeIfAbsent(pair, k -> {
            PathTraits found = PathTraits.of(plan, from, to);
            int number = number(numbers, found);
            if (number == traits.size()) {
                traits.add(found);
            }
            return number;
        });
    }

    PathTraits traits(int from, int to) {
        return traits.get(index(from, to));
    }

    PathTraits traits(int index) {
        return traits.get(index);
    }
}
