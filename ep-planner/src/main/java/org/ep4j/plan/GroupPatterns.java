package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Patterns of equality between groups of ranks. Two groups are compared one by one only where they share a value that few groups have;
 * all other pairs differ only in values that many have. So thousands of groups take far fewer steps than there are pairs of them.
 */
final class GroupPatterns {
    private final RankClasses classes;
    private final int[] types;
    /** By compared value and group: all groups that have this value, ascending; empty where it is a common one. */
    private final List<int[][]> few = new ArrayList<>();

    private final int[] likeGroupsOf;

    private final List<LikeGroups> likeGroups = new ArrayList<>();

    /** Groups of one type with the same values by column, -1 for one that few groups have. */
    record LikeGroups(int type, List<Integer> values, List<Integer> groups) {}

    /** Groups of one type that have the same pattern with a group: the lowest of them, and their number. */
    record Peers(Key key, boolean self, int example, long count) {
        int type() {
            return key.type;
        }

        long pattern() {
            return key.pattern;
        }

        private Peers and(Peers other) {
            return new Peers(key, self, Math.min(example, other.example), count + other.count);
        }
    }

    record Key(long pattern, int type) {}

    /** @param types by group: groups of different types are not put together */
    GroupPatterns(RankClasses classes, int[] types) {
        this.classes = classes;
        this.types = types.clone();
        this.likeGroupsOf = new int[types.length];
        int most = (int) Math.ceil(Math.sqrt(types.length));
        for (int column = 0; column < classes.columns(); column++) {
            few.add(few(column, most));
        }
        Map<List<Integer>, Integer> known = new HashMap<>();
        for (int group = 0; group < types.length; group++) {
            List<Integer> values = commonValues(group);
            List<Integer> key = new ArrayList<>(values);
            key.add(types[group]);
            likeGroupsOf[group] = RankClasses.number(known, key);
            if (likeGroupsOf[group] == likeGroups.size()) {
                likeGroups.add(new LikeGroups(types[group], values, new ArrayList<>()));
            }
            likeGroups.get(likeGroupsOf[group]).groups().add(group);
        }
    }

    private int[][] few(int column, int most) {
        Map<Integer, List<Integer>> groups = new HashMap<>();
        for (int group = 0; group < types.length; group++) {
            groups.computeIfAbsent(classes.value(column, group), k -> new ArrayList<>())
                    .add(group);
        }
        int[][] found = new int[types.length][];
        for (List<Integer> alike : groups.values()) {
            int[] shared = alike.size() > most
                    ? new int[0]
                    : alike.stream().mapToInt(Integer::intValue).toArray();
            alike.forEach(group -> found[group] = shared);
        }
        return found;
    }

    private List<Integer> commonValues(int group) {
        return IntStream.range(0, few.size())
                .map(column -> few.get(column)[group].length == 0 ? classes.value(column, group) : -1)
                .boxed()
                .toList();
    }

    /** Groups that are alike, together; each group is in one of these. */
    List<LikeGroups> likeGroups() {
        return likeGroups;
    }

    /** Groups that are compared with this one singly, ascending, the group itself among them. */
    int[] near(int group) {
        IntStream own = IntStream.of(group);
        return few.stream()
                .map(column -> Arrays.stream(column[group]))
                .reduce(own, IntStream::concat)
                .sorted()
                .distinct()
                .toArray();
    }

    /** Pattern of a group with every group of {@code like} that is not {@link #near}. */
    long pattern(int group, LikeGroups like) {
        List<Integer> own = likeGroups.get(likeGroupsOf[group]).values();
        long pattern = 0;
        for (int column = 0; column < own.size(); column++) {
            int value = own.get(column);
            if (value >= 0 && value == like.values().get(column)) {
                pattern |= 1L << column;
            }
        }
        return pattern;
    }

    /** The group itself, then all other groups, the lowest example first. */
    List<Peers> peers(int group) {
        int[] near = near(group);
        int[] nearIn = new int[likeGroups.size()];
        Map<Key, Peers> found = new HashMap<>();
        for (int other : near) {
            nearIn[likeGroupsOf[other]]++;
            if (other != group) {
                add(found, classes.pattern(group, other), types[other], other, 1);
            }
        }
        for (int i = 0; i < nearIn.length; i++) {
            LikeGroups like = likeGroups.get(i);
            int count = like.groups().size() - nearIn[i];
            if (count > 0) {
                add(found, pattern(group, like), like.type(), firstBut(like, near), count);
            }
        }
        Key own = new Key(classes.pattern(group, group), types[group]);
        return Stream.concat(
                        Stream.of(new Peers(own, true, group, 1)),
                        found.values().stream().sorted(Comparator.comparingInt(Peers::example)))
                .toList();
    }

    private static void add(Map<Key, Peers> found, long pattern, int type, int example, long count) {
        Key key = new Key(pattern, type);
        found.merge(key, new Peers(key, false, example, count), Peers::and);
    }

    private static int firstBut(LikeGroups like, int[] near) {
        for (int group : like.groups()) {
            if (Arrays.binarySearch(near, group) < 0) {
                return group;
            }
        }
        throw new IllegalStateException("every one of these groups is near");
    }
}
