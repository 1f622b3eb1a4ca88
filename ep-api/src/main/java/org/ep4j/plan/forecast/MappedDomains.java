package org.ep4j.plan.forecast;

import java.util.ArrayList;
import java.util.List;

/** Ranks that reach each other's memory by loads and stores, together: hosts mostly, or all hosts of an NVLink domain. */
final class MappedDomains {
    private final List<List<Integer>> members = new ArrayList<>();
    private final int[] domainOf;
    private final int[] indexIn;

    MappedDomains(PathTable paths, int ranks) {
        domainOf = new int[ranks];
        indexIn = new int[ranks];
        List<Integer> recent = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            int domain = find(paths, rank, recent);
            if (domain < 0) {
                domain = members.size();
                members.add(new ArrayList<>());
                recent.add(domain);
            }
            domainOf[rank] = domain;
            indexIn[rank] = members.get(domain).size();
            members.get(domain).add(rank);
        }
    }

    private int find(PathTable paths, int rank, List<Integer> domains) {
        for (int domain : domains) {
            List<Integer> ranks = members.get(domain);
            if (paths.near(ranks.get(0), rank)
                    && ranks.stream()
                            .allMatch(other -> paths.traits(other, rank).mapped()
                                    && paths.traits(rank, other).mapped())) {
                return domain;
            }
        }
        return -1;
    }

    int count() {
        return members.size();
    }

    List<Integer> members(int domain) {
        return members.get(domain);
    }

    int of(int rank) {
        return domainOf[rank];
    }

    /** The rank that takes what {@code rank} sends to a domain: the one at its own place, so that all share the work. */
    int rail(int rank, int domain) {
        List<Integer> ranks = members.get(domain);
        return ranks.get(indexIn[rank] % ranks.size());
    }
}
