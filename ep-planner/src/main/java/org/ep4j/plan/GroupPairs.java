package org.ep4j.plan;

import com.google.common.collect.Maps;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Pairs of groups of ranks by type and pattern of equality. The type of a group is its set of classes with their sizes. */
final class GroupPairs {
    private final List<SortedMap<Integer, List<Integer>>> members = new ArrayList<>();
    private final GroupPatterns patterns;
    private final Map<Kind, Count> all = new LinkedHashMap<>();
    private final List<List<GroupPatterns.Peers>> peersOf = new ArrayList<>();
    private final int[] roleOf;

    /** Types of two groups, and the pattern of their equality. */
    record Kind(int from, int to, long pattern) {}

    /** Number of pairs, and the first one. */
    record Count(int from, int to, long count) {}

    GroupPairs(RankClasses classes) {
        for (int rank = 0; rank < classes.ranks(); rank++) {
            while (members.size() <= classes.groupOf(rank)) {
                members.add(new TreeMap<>());
            }
            members.get(classes.groupOf(rank))
                    .computeIfAbsent(classes.classOf(rank), k -> new ArrayList<>())
                    .add(rank);
        }
        int[] typeOf =
                RankClasses.numbers(members.size(), group -> Maps.transformValues(members.get(group), List::size));
        this.roleOf = new int[members.size()];
        this.patterns = new GroupPatterns(classes, typeOf);
        Map<List<Object>, Integer> roles = new HashMap<>();
        for (int group = 0; group < typeOf.length; group++) {
            List<GroupPatterns.Peers> peers = patterns.peers(group);
            for (GroupPatterns.Peers one : peers) {
                all.merge(
                        new Kind(typeOf[group], one.type(), one.pattern()),
                        new Count(group, one.example(), one.count()),
                        (a, b) -> new Count(a.from, a.to, a.count + b.count));
            }
            List<Object> role = List.of(
                    typeOf[group], peers.stream().map(GroupPatterns.Peers::key).collect(Collectors.toSet()));
            roleOf[group] = RankClasses.number(roles, role);
            if (roleOf[group] == peersOf.size()) {
                peersOf.add(peers);
            }
        }
    }

    Map<Kind, Count> all() {
        return all;
    }

    /** Ranks of a group, ascending, by class. */
    SortedMap<Integer, List<Integer>> members(int group) {
        return members.get(group);
    }

    int groups() {
        return members.size();
    }

    GroupPatterns patterns() {
        return patterns;
    }

    /** Groups with an equal role are of one type and have peers of the same types and patterns. */
    int roleOf(int group) {
        return roleOf[group];
    }

    /** Peers of a group, or of the first one with the same role. */
    List<GroupPatterns.Peers> peers(int group) {
        return peersOf.get(roleOf[group]);
    }
}
