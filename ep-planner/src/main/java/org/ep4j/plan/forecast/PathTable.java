package org.ep4j.plan.forecast;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.plan.GroupPlan;

/**
 * The {@link PathTraits} of all pairs of a plan, numbered. Pairs of one kind whose ranks have the same NICs have equal
 * traits, so that thousands of ranks cost no more questions to the plan than the kinds of pairs there are.
 */
final class PathTable {
    private final GroupPlan plan;
    private final int[] nics;
    private final long nicCount;
    private final Map<Long, Integer> known = new HashMap<>();
    private final List<PathTraits> traits = new ArrayList<>();
    private final Map<PathTraits, Integer> numbers = new HashMap<>();

    PathTable(GroupPlan plan) {
        this.plan = plan;
        this.nics = new int[plan.ranks()];
        Map<List<String>, Integer> nicNumbers = new HashMap<>();
        for (int rank = 0; rank < nics.length; rank++) {
            nics[rank] = number(nicNumbers, plan.nics(rank));
        }
        nicCount = nicNumbers.size();
    }

    static <K> int number(Map<K, Integer> numbers, K key) {
        Integer old = numbers.putIfAbsent(key, numbers.size());
        return old == null ? numbers.size() - 1 : old;
    }

    /** By rank, a number for its NICs: traits differ between peers of one kind with different NICs. */
    int[] nics() {
        return nics;
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
