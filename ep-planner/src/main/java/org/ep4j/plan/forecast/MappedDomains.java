package org.ep4j.plan.forecast;

import com.google.common.collect.Sets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.ep4j.EpPath;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;

/** Ranks that reach each other's memory by loads and stores, together: hosts mostly, or all hosts of an NVLink domain. */
final class MappedDomains {
    private final List<List<Integer>> members = new ArrayList<>();
    private final int[] domainOf;
    private final int[] indexIn;

    MappedDomains(GroupPlan plan) {
        domainOf = new int[plan.ranks()];
        indexIn = new int[plan.ranks()];
        Map<String, Set<Integer>> around = new HashMap<>();
        for (RankProfile profile : plan.profiles()) {
            int rank = profile.rank();
            Set<Integer> sameHost = around.computeIfAbsent("host " + profile.hostId(), k -> new TreeSet<>());
            Set<Integer> sameDomain = profile.domain().isEmpty()
                    ? sameHost
                    : around.computeIfAbsent("domain " + profile.domain(), k -> new TreeSet<>());
            int domain = Sets.union(sameHost, sameDomain).stream()
                    .sorted()
                    .filter(one -> members.get(one).stream()
                            .allMatch(other -> plan.pathKind(other, rank) == EpPath.Kind.MAPPED
                                    && plan.pathKind(rank, other) == EpPath.Kind.MAPPED))
                    .findFirst()
                    .orElse(members.size());
            if (domain == members.size()) {
                members.add(new ArrayList<>());
                sameHost.add(domain);
                sameDomain.add(domain);
            }
            domainOf[rank] = domain;
            indexIn[rank] = members.get(domain).size();
            members.get(domain).add(rank);
        }
    }

    int count() {
        return members.size();
    }

    /** Ranks of the largest. */
    int largest() {
        return members.stream().mapToInt(List::size).max().orElse(0);
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

    /** True for the rank that takes what {@code from} sends to its domain: the one at the same place, so that all share the work. */
    boolean isRail(int from, int rank) {
        return indexIn[from] % members.get(domainOf[rank]).size() == indexIn[rank];
    }
}
