package org.ep4j.plan.forecast;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Ranks that reach each other's memory by loads and stores, together: hosts mostly, or all hosts of an NVLink domain. */
final class MappedDomains {
    private final List<List<Integer>> members = new ArrayList<>();
    private final int[] domainOf;
    private final int[] indexIn;

    MappedDomains(PathTable paths, int ranks) {
        domainOf = new int[ranks];
        indexIn = new int[ranks];
        Arrays.fill(domainOf, -1);
        for (int rank = 0; rank < ranks; rank++) {
            int domain = find(paths, rank);
            if (domain < 0) {
                domain = members.size();
                members.add(new ArrayList<>());
            }
            domainOf[rank] = domain;
            indexIn[rank] = members.get(domain).size();
            members.get(domain).add(rank);
        }
    }

    /** The first domain of a rank near by whose ranks all are mapped; -1 where there is none yet. */
    private int find(PathTable paths, int rank) {
        Set<Integer> domains = new TreeSet<>();
        for (int other : paths.near(rank)) {
            if (domainOf[other] >= 0) {
                domains.add(domainOf[other]);
            }
        }
        for (int domain : domains) {
            boolean mapped = members.get(domain).stream()
                    .allMatch(other -> paths.traits(other, rank).mapped()
                            && paths.traits(rank, other).mapped());
            if (mapped) {
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

    /** Place of a rank in its domain, from 0. */
    int place(int rank) {
        return indexIn[rank];
    }

    /** Ranks of the domain of a rank. */
    int size(int rank) {
        return members.get(domainOf[rank]).size();
    }

    /**
     * True when {@code to} takes what {@code from} sends to its domain: it has the place of {@code from} in its own, counted
     * round, so that all share the work. A rank takes what it sends to its own domain.
     */
    boolean rail(int from, int to) {
        return indexIn[from] % size(to) == indexIn[to];
    }
}
