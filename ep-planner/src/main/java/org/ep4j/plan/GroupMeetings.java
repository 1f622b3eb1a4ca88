package org.ep4j.plan;

import com.google.common.collect.Maps;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Which types of groups of ranks meet with which pattern of equality. A type is a set of classes with their numbers. */
final class GroupMeetings {
    private final RankClasses classes;
    private final List<SortedMap<Integer, List<Integer>>> members = new ArrayList<>();
    private final int[] typeOf;
    private final GroupPatterns patterns;
    private final Map<Meeting, Tally> all = new LinkedHashMap<>();
    private final List<List<Around>> aroundOf = new ArrayList<>();
    private final int[] roleOf;

    /** Types of two groups, and the pattern of their equality. */
    record Meeting(int from, int to, long pattern) {}

    /**
     * What a group meets.
     *
     * @param pattern of its equality with the others
     * @param example one of them
     * @param self true for the group itself
     */
    record Around(long pattern, int example, boolean self) {}

    /**
     * How often something is met.
     *
     * @param from the first group that meets it
     * @param to the first that it meets
     */
    record Tally(int from, int to, long count) {}

    private record Seen(int type, long pattern, boolean self) {}

    GroupMeetings(RankClasses classes) {
        this.classes = classes;
        for (int rank = 0; rank < classes.ranks(); rank++) {
            while (members.size() <= classes.groupOf(rank)) {
                members.add(new TreeMap<>());
            }
            members.get(classes.groupOf(rank))
                    .computeIfAbsent(classes.classOf(rank), k -> new ArrayList<>())
                    .add(rank);
        }
        this.typeOf =
                RankClasses.numbers(members.size(), group -> Maps.transformValues(members.get(group), List::size));
        this.roleOf = new int[members.size()];
        this.patterns = new GroupPatterns(classes, typeOf);
        Map<List<Object>, Integer> roles = new HashMap<>();
        for (int group = 0; group < typeOf.length; group++) {
            Map<Seen, Tally> seen = meet(group);
            List<Object> role = new ArrayList<>(List.of(typeOf[group]));
            role.add(seen.keySet());
            roleOf[group] = RankClasses.number(roles, role);
            if (roleOf[group] == aroundOf.size()) {
                aroundOf.add(seen.entrySet().stream()
                        .map(met -> new Around(met.getKey().pattern, met.getValue().to, met.getKey().self))
                        .toList());
            }
        }
    }

    /** Every meeting, with an example. */
    Map<Meeting, Tally> all() {
        return all;
    }

    /** Ranks of a group, ascending, by class. */
    SortedMap<Integer, List<Integer>> members(int group) {
        return members.get(group);
    }

    int groups() {
        return typeOf.length;
    }

    GroupPatterns patterns() {
        return patterns;
    }

    /** Groups with an equal role are of one type and meet the same types. */
    int roleOf(int group) {
        return roleOf[group];
    }

    /** What a group meets, itself among it. */
    List<Around> around(int group) {
        return aroundOf.get(roleOf[group]);
    }

    private Map<Seen, Tally> meet(int group) {
        Map<Seen, Tally> seen = new LinkedHashMap<>();
        seen.put(new Seen(typeOf[group], classes.pattern(group, group), true), new Tally(group, group, 1));
        for (GroupPatterns.Met met : patterns.met(group)) {
            seen.put(new Seen(met.type(), met.pattern(), false), new Tally(group, met.example(), met.count()));
        }
        seen.forEach((met, tally) -> all.merge(
                new Meeting(typeOf[group], met.type, met.pattern),
                tally,
                (a, b) -> new Tally(a.from, a.to, a.count + b.count)));
        return seen;
    }
}
