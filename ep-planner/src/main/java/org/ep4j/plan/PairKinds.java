package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * The kinds of ordered pairs of ranks that occur: class of the one, class of the other, pattern of their equality. Pairs of
 * one kind have the same path. Kinds are found from groups of ranks (hosts) and what they meet, so thousands of ranks cost as many kinds as
 * there are different places in one host.
 */
final class PairKinds {
    private final RankClasses classes;
    private final GroupMeetings meetings;
    private final int classCount;
    private final long[] patterns;
    /** Packed kinds, ascending. */
    private final long[] keys;

    /** By class: index of the first kind in which it writes, and after the last class the number of kinds. */
    private final int[] firstOf;

    private final List<Kind> kinds;
    private final int[] placeOf;
    private final List<Place> places;

    /**
     * One kind.
     *
     * @param from writing rank of the first such pair
     * @param to its peer
     * @param pairs how many pairs there are
     */
    record Kind(int from, int to, long pairs) {}

    /**
     * Ranks with the same kinds of peers.
     *
     * @param from kinds of pairs in which they write
     * @param to kinds of pairs in which they are written to
     */
    @SuppressWarnings("ArrayRecordComponent") // compared by identity only
    record Place(int[] from, int[] to) {}

    private PairKinds(RankClasses classes) {
        this.classes = classes;
        this.meetings = new GroupMeetings(classes);
        int most = 0;
        for (int rank = 0; rank < classes.ranks(); rank++) {
            most = Math.max(most, classes.classOf(rank) + 1);
        }
        this.classCount = most;
        this.patterns = meetings.all().keySet().stream()
                .mapToLong(GroupMeetings.Meeting::pattern)
                .sorted()
                .distinct()
                .toArray();
        Map<Long, Kind> found = new TreeMap<>();
        meetings.all().forEach((meeting, tally) -> collect(meeting, tally, found));
        this.keys = found.keySet().stream().mapToLong(Long::longValue).toArray();
        this.firstOf = new int[classCount + 1];
        for (int from = 0; from <= classCount; from++) {
            int first = Arrays.binarySearch(keys, key(from, 0, 0));
            firstOf[from] = first < 0 ? -1 - first : first;
        }
        this.kinds = List.copyOf(found.values());
        this.placeOf = RankClasses.numbers(
                classes.ranks(), rank -> List.of(meetings.roleOf(classes.groupOf(rank)), classes.classOf(rank)));
        this.places = findPlaces();
    }

    static PairKinds of(RankClasses classes) {
        return new PairKinds(classes);
    }

    /** All of them; the index of one is what the other methods name it by. */
    List<Kind> kinds() {
        return kinds;
    }

    /** Index of the kind of a pair of different ranks. */
    int index(int from, int to) {
        long pattern = classes.pattern(classes.groupOf(from), classes.groupOf(to));
        return index(classes.classOf(from), classes.classOf(to), pattern);
    }

    Place place(int rank) {
        return places.get(placeOf[rank]);
    }

    int classes() {
        return classCount;
    }

    /** Class of a rank: ranks of one class have equal facts, and may differ in names and identity. */
    int classOf(int rank) {
        return classes.classOf(rank);
    }

    /** All places that ranks have. */
    List<Place> places() {
        return places;
    }

    /** The lowest rank of each place. */
    List<Integer> exampleRanks() {
        Set<Integer> seen = new HashSet<>();
        return IntStream.range(0, placeOf.length)
                .filter(rank -> seen.add(placeOf[rank]))
                .boxed()
                .toList();
    }

    /** Peers of each rank that are alike, where ranks have these labels. */
    PeerGroups peerGroups(int[] labels) {
        return new PeerGroups(classes, meetings, labels);
    }

    /**
     * The peers of a rank to which it has a wanted kind of pair, ascending.
     *
     * @param wanted kinds, by index; fast where few pairs are of these
     */
    int[] peers(int rank, BitSet wanted) {
        GroupPatterns patterns = meetings.patterns();
        int group = classes.groupOf(rank);
        int[] near = patterns.near(group);
        IntStream.Builder peers = IntStream.builder();
        for (int other : near) {
            add(rank, classes.pattern(group, other), other, wanted, peers);
        }
        for (GroupPatterns.LikeGroups like : patterns.likeGroups()) {
            long pattern = patterns.pattern(group, like);
            boolean any = meetings.members(like.groups().get(0)).keySet().stream()
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
        meetings.members(group).forEach((to, ranks) -> {
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
        int place = Arrays.binarySearch(patterns, pattern);
        return place < 0 ? -1 : Arrays.binarySearch(keys, firstOf[from], firstOf[from + 1], key(from, to, place));
    }

    private long key(int from, int to, int pattern) {
        return ((long) from * classCount + to) * patterns.length + pattern;
    }

    private void collect(GroupMeetings.Meeting meeting, GroupMeetings.Tally tally, Map<Long, Kind> found) {
        boolean same = tally.from() == tally.to();
        int pattern = Arrays.binarySearch(patterns, meeting.pattern());
        for (var a : meetings.members(tally.from()).entrySet()) {
            for (var b : meetings.members(tally.to()).entrySet()) {
                List<Integer> from = a.getValue();
                List<Integer> to = b.getValue();
                boolean own = same && a.getKey().equals(b.getKey());
                long pairs = tally.count() * from.size() * (own ? from.size() - 1 : to.size());
                if (pairs > 0) {
                    Kind kind = new Kind(from.get(0), to.get(own ? 1 : 0), pairs);
                    found.merge(key(a.getKey(), b.getKey(), pattern), kind, PairKinds::join);
                }
            }
        }
    }

    private static Kind join(Kind a, Kind b) {
        boolean first = a.from < b.from || (a.from == b.from && a.to < b.to);
        return new Kind(first ? a.from : b.from, first ? a.to : b.to, a.pairs + b.pairs);
    }

    private List<Place> findPlaces() {
        List<Place> found = new ArrayList<>();
        for (int rank = 0; rank < placeOf.length; rank++) {
            if (placeOf[rank] == found.size()) {
                found.add(place(classes.groupOf(rank), classes.classOf(rank)));
            }
        }
        return List.copyOf(found);
    }

    private Place place(int group, int own) {
        Set<Integer> from = new TreeSet<>();
        Set<Integer> to = new TreeSet<>();
        for (GroupMeetings.Around around : meetings.around(group)) {
            meetings.members(around.example()).forEach((other, ranks) -> {
                if (!around.self() || other != own || ranks.size() > 1) {
                    from.add(index(own, other, around.pattern()));
                    to.add(index(other, own, around.pattern()));
                }
            });
        }
        return new Place(ints(from), ints(to));
    }

    private static int[] ints(Set<Integer> values) {
        return values.stream().mapToInt(Integer::intValue).toArray();
    }
}
