package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Which types of groups of ranks meet with which pattern of equality. A type is a set of classes with their numbers. */
final class GroupMeetings {
    private final RankClasses classes;
    private final List<SortedMap<Integer, List<Integer>>> members = new ArrayList<>();
    private final int[] typeOf;
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

    /** How often something is met. */
    static final class Tally {
        final int from;
        final int to;
        long count;

        Tally(int from, int to) {
            this.from = from;
            this.to = to;
        }
    }

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
        this.typeOf = new int[members.size()];
        this.roleOf = new int[members.size()];
        findTypes();
        Map<List<Object>, Integer> roles = new HashMap<>();
        for (int group = 0; group < typeOf.length; group++) {
            Map<Seen, Tally> seen = meet(group);
            List<Object> role = new ArrayList<>(List.of(typeOf[group]));
            role.add(seen.keySet());
            Integer known = roles.putIfAbsent(role, aroundOf.size());
            roleOf[group] = known == null ? aroundOf.size() : known;
            if (known == null) {
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

    /** Number of groups. */
    int groups() {
        return typeOf.length;
    }

    /** Number of the type of a group: those of one type have the same numbers of ranks of the same classes. */
    int typeOf(int group) {
        return typeOf[group];
    }

    /** Groups with an equal role are of one type and meet the same types. */
    int roleOf(int group) {
        return roleOf[group];
    }

    /** What a group meets, itself among it. */
    List<Around> around(int group) {
        return aroundOf.get(roleOf[group]);
    }

    private void findTypes() {
        Map<Map<Integer, Integer>, Integer> types = new HashMap<>();
        for (int group = 0; group < typeOf.length; group++) {
            Map<Integer, Integer> counts = new TreeMap<>();
            members.get(group).forEach((of, ranks) -> counts.put(of, ranks.size()));
            Integer known = types.putIfAbsent(counts, types.size());
            typeOf[group] = known == null ? types.size() - 1 : known;
        }
    }

    private Map<Seen, Tally> meet(int group) {
        int types = Arrays.stream(typeOf).max().orElse(-1) + 1;
        // Neighbours in the list are mostly alike, so the last meeting of each type is at hand.
        long[] lastPattern = new long[types];
        @Nullable Tally[] last = new @Nullable Tally[types];
        Map<Seen, Tally> seen = new LinkedHashMap<>();
        for (int other = 0; other < typeOf.length; other++) {
            int type = typeOf[other];
            long pattern = classes.pattern(group, other);
            Tally tally = last[type];
            if (other == group || tally == null || lastPattern[type] != pattern) {
                int to = other;
                tally = seen.computeIfAbsent(new Seen(type, pattern, other == group), k -> new Tally(group, to));
                if (other != group) {
                    last[type] = tally;
                    lastPattern[type] = pattern;
                }
            }
            tally.count++;
        }
        seen.forEach((met, tally) -> all.computeIfAbsent(
                        new Meeting(typeOf[group], met.type, met.pattern), k -> new Tally(tally.from, tally.to))
                .count += tally.count);
        return seen;
    }
}
