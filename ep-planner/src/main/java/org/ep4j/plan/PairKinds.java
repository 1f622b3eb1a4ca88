package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * The kinds of ordered pairs of ranks that occur: class of the one, class of the other, pattern of their equality.
 * Pairs of one kind have the same path. Kinds are found from pairs of groups of ranks (hosts), so thousands of ranks
 * cost as many kinds as there are different roles in one host.
 */
final class PairKinds {
    private final RankClasses classes;
    private final GroupPairs groupPairs;
    private final int classCount;
    private final long[] patterns;
    /** Packed kinds, ascending. */
    private final long[] keys;

    /** By class: index of the first kind in which it writes, and after the last class the number of kinds. */
    private final int[] firstOf;

    private final List<Kind> kinds;
    private final int[] roleOf;
    private final List<Role> roles;

    /** One kind: writing rank and peer of its first pair, and the number of its pairs. */
    record Kind(int from, int to, long pairs) {
        /** The order of the first pairs. */
        static final Comparator<Kind> ORDER =
                Comparator.comparingInt(Kind::from).thenComparingInt(Kind::to);
    }

    /** Kinds of pairs in which a rank writes, and in which it is written to; ranks with equal kinds share one. */
    @SuppressWarnings("ArrayRecordComponent") // compared by identity only
    record Role(int[] from, int[] to) {}

    private PairKinds(RankClasses classes) {
        this.classes = classes;
        this.groupPairs = new GroupPairs(classes);
        int most = 0;
        for (int rank = 0; rank < classes.ranks(); rank++) {
            most = Math.max(most, classes.classOf(rank) + 1);
        }
        this.classCount = most;
        this.patterns = groupPairs.all().keySet().stream()
                .mapToLong(GroupPairs.Kind::pattern)
                .sorted()
                .distinct()
                .toArray();
        Map<Long, Kind> found = new TreeMap<>();
        groupPairs.all().forEach((kind, count) -> collect(kind, count, found));
        this.keys = found.keySet().stream().mapToLong(Long::longValue).toArray();
        this.firstOf = new int[classCount + 1];
        for (int from = 0; from <= classCount; from++) {
            int first = Arrays.binarySearch(keys, key(from, 0, 0));
            firstOf[from] = first < 0 ? -1 - first : first;
        }
        this.kinds = List.copyOf(found.values());
        this.roleOf = RankClasses.numbers(
                classes.ranks(), rank -> List.of(groupPairs.roleOf(classes.groupOf(rank)), classes.classOf(rank)));
        this.roles = findRoles();
    }

    static PairKinds of(RankClasses classes) {
        return new PairKinds(classes);
    }

    /** All kinds; other methods name a kind by its index. */
    List<Kind> kinds() {
        return kinds;
    }

    /** Index of the kind of a pair of different ranks. */
    int index(int from, int to) {
        long pattern = classes.pattern(classes.groupOf(from), classes.groupOf(to));
        return index(classes.classOf(from), classes.classOf(to), pattern);
    }

    Role role(int rank) {
        return roles.get(roleOf[rank]);
    }

    int classes() {
        return classCount;
    }

    /** Class of a rank: ranks of one class have equal facts, and may differ in names and identity. */
    int classOf(int rank) {
        return classes.classOf(rank);
    }

    List<Role> roles() {
        return roles;
    }

    /** The lowest rank of each role. */
    List<Integer> exampleRanks() {
        Set<Integer> seen = new HashSet<>();
        return IntStream.range(0, roleOf.length)
                .filter(rank -> seen.add(roleOf[rank]))
                .boxed()
                .toList();
    }

    /** Peers of each rank that are alike, where ranks have these labels. */
    PeerGroups peerGroups(int[] labels) {
        return new PeerGroups(classes, groupPairs, labels);
    }

    /** Peers to which a rank has a wanted kind of pair, ascending; fast where few pairs are wanted. */
    int[] peers(int rank, BitSet wanted) {
        GroupPatterns patterns = groupPairs.patterns();
        int group = classes.groupOf(rank);
        int[] near = patterns.near(group);
        IntStream.Builder peers = IntStream.builder();
        for (int other : near) {
            add(rank, classes.pattern(group, other), other, wanted, peers);
        }
        for (GroupPatterns.LikeGroups like : patterns.likeGroups()) {
            long pattern = patterns.pattern(group, like);
            boolean any = groupPairs.members(like.groups().get(0)).keySet().stream()
                    .anyMatch(to -> isWanted(classes.classOf(rank), to, pattern, wanted));
            if (any) {
                like.groups().stream()
                        .filter(other -> Arrays.binarySearch(near, other) < 0)
                        .forEach(other -> add(rank, pattern, other, wanted, peers));
            }
        }
        return peers.build().sorted().toArray();
    }

    private void add(int rank, long pattern, int group, BitSet wanted, IntStream.Builder peers) {
        groupPairs.members(group).forEach((to, ranks) -> {
            if (isWanted(classes.classOf(rank), to, pattern, wanted)) {
                ranks.stream().filter(peer -> peer != rank).forEach(peers::add);
            }
        });
    }

    private boolean isWanted(int from, int to, long pattern, BitSet wanted) {
        int kind = index(from, to, pattern);
        return kind >= 0 && wanted.get(kind);
    }

    /** Negative where no such pair occurs. */
    private int index(int from, int to, long pattern) {
        int number = Arrays.binarySearch(patterns, pattern);
        return number < 0 ? -1 : Arrays.binarySearch(keys, firstOf[from], firstOf[from + 1], key(from, to, number));
    }

    private long key(int from, int to, int pattern) {
        return ((long) from * classCount + to) * patterns.length + pattern;
    }

    private void collect(GroupPairs.Kind kind, GroupPairs.Count count, Map<Long, Kind> found) {
        boolean same = count.from() == count.to();
        int pattern = Arrays.binarySearch(patterns, kind.pattern());
        for (var a : groupPairs.members(count.from()).entrySet()) {
            for (var b : groupPairs.members(count.to()).entrySet()) {
                List<Integer> from = a.getValue();
                List<Integer> to = b.getValue();
                boolean own = same && a.getKey().equals(b.getKey());
                long pairs = count.count() * from.size() * (own ? from.size() - 1 : to.size());
                if (pairs > 0) {
                    Kind one = new Kind(from.get(0), to.get(own ? 1 : 0), pairs);
                    found.merge(key(a.getKey(), b.getKey(), pattern), one, PairKinds::join);
                }
            }
        }
    }

    private static Kind join(Kind a, Kind b) {
        Kind first = Kind.ORDER.compare(a, b) <= 0 ? a : b;
        return new Kind(first.from, first.to, a.pairs + b.pairs);
    }

    private List<Role> findRoles() {
        List<Role> found = new ArrayList<>();
        for (int rank = 0; rank < roleOf.length; rank++) {
            if (roleOf[rank] == found.size()) {
                found.add(role(classes.groupOf(rank), classes.classOf(rank)));
            }
        }
        return List.copyOf(found);
    }

    private Role role(int group, int own) {
        Set<Integer> from = new TreeSet<>();
        Set<Integer> to = new TreeSet<>();
        for (GroupPatterns.Peers peers : groupPairs.peers(group)) {
            groupPairs.members(peers.example()).forEach((other, ranks) -> {
                if (!peers.self() || other != own || ranks.size() > 1) {
                    from.add(index(own, other, peers.pattern()));
                    to.add(index(other, own, peers.pattern()));
                }
            });
        }
        return new Role(ints(from), ints(to));
    }

    private static int[] ints(Set<Integer> values) {
        return values.stream().mapToInt(Integer::intValue).toArray();
    }
}
