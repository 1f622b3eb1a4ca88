package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Finds {@link RankGroup}s from pairs of groups (hosts) instead of pairs of ranks. */
final class RankGroups {
    private RankGroups() {}

    private record Key(int role, int own) {}

    /** A class of peers, met with one pattern of equality. */
    private record Met(long pattern, int other) {}

    /** In the order of their lowest ranks. */
    static List<RankGroup> of(RankClasses classes) {
        GroupMeetings meetings = new GroupMeetings(classes);
        int[] firstOfRole = new int[classes.ranks()];
        Map<Key, List<Integer>> found = new LinkedHashMap<>();
        Arrays.fill(firstOfRole, Integer.MAX_VALUE);
        for (int rank = 0; rank < classes.ranks(); rank++) {
            int group = classes.groupOf(rank);
            int role = meetings.roleOf(group);
            firstOfRole[role] = Math.min(firstOfRole[role], group);
            found.computeIfAbsent(new Key(role, classes.classOf(rank)), k -> new ArrayList<>())
                    .add(rank);
        }
        List<RankGroup> groups = new ArrayList<>();
        found.forEach((key, ranks) -> groups.add(group(meetings, firstOfRole[key.role()], key.own(), ranks)));
        return List.copyOf(groups);
    }

    /** @param group the one of which the meetings of its role are told */
    private static RankGroup group(GroupMeetings meetings, int group, int own, List<Integer> ranks) {
        Map<Met, PeerGroup> peers = new LinkedHashMap<>();
        for (GroupMeetings.Around around : meetings.around(group)) {
            meetings.members(around.example()).forEach((other, members) -> {
                boolean self = around.self() && other == own;
                int each = members.size() - (self ? 1 : 0);
                if (each > 0) {
                    PeerGroup met = new PeerGroup(members.get(self ? 1 : 0), Math.toIntExact(around.groups() * each));
                    peers.merge(
                            new Met(around.pattern(), other),
                            met,
                            (a, b) -> new PeerGroup(a.example(), a.peers() + b.peers()));
                }
            });
        }
        int example = meetings.members(group).getOrDefault(own, ranks).get(0);
        return new RankGroup(example, ranks, List.copyOf(peers.values()));
    }
}
