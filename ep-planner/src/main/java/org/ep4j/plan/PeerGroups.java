package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntFunction;

/**
 * The peers of each rank, in groups that the plan treats alike. The pairs of the rank with all peers of a group are of
 * the same kind ({@link GroupPlan#kind}) in each direction, and the peers of a group have the same label. What is added up
 * over all pairs of thousands of ranks takes as many steps as there are such groups. Immutable.
 */
public final class PeerGroups {
    private final RankClasses classes;
    private final int[] labels;
    private final GroupPairs groupPairs;
    private final GroupPatterns patterns;
    private final List<List<Alike>> members = new ArrayList<>();

    /** Receives the peers of a rank, group by group. */
    @FunctionalInterface
    public interface Visitor {
        /**
         * Receives one group: {@code count} peers that are alike, of which {@code example} is one.
         *
         * @param example one of them
         * @param count how many there are
         */
        void visit(int example, long count);
    }

    private record Alike(int example, long count) {}

    /** Key of the comparison of groups: how many ranks of a class have a label. */
    private record Member(int ofClass, int label) {}

    PeerGroups(RankClasses classes, GroupPairs groupPairs, int[] labels) {
        this.classes = classes;
        this.labels = labels.clone();
        this.groupPairs = groupPairs;
        int[] types = new int[groupPairs.groups()];
        Map<Map<Member, Long>, Integer> known = new HashMap<>();
        for (int group = 0; group < types.length; group++) {
            Map<Member, Long> counts = new HashMap<>();
            Map<Member, Integer> examples = new LinkedHashMap<>();
            for (Map.Entry<Integer, List<Integer>> of :
                    groupPairs.members(group).entrySet()) {
                for (int rank : of.getValue()) {
                    Member member = new Member(of.getKey(), labels[rank]);
                    counts.merge(member, 1L, Long::sum);
                    examples.putIfAbsent(member, rank);
                }
            }
            members.add(examples.entrySet().stream()
                    .map(one -> new Alike(one.getValue(), counts.getOrDefault(one.getKey(), 0L)))
                    .toList());
            types[group] = RankClasses.number(known, counts);
        }
        this.patterns = new GroupPatterns(classes, types);
    }

    /**
     * Returns labels for {@link GroupPlan#peerGroups}: ranks with equal values have equal labels, which are numbered in the
     * order of the ranks.
     */
    public static int[] labels(int ranks, IntFunction<Object> value) {
        return RankClasses.numbers(ranks, value);
    }

    /** Visits the groups of a rank's peers; every peer is in exactly one group. */
    public void forEach(int rank, Visitor visitor) {
        int group = classes.groupOf(rank);
        Map<Member, Integer> examples =
                new TreeMap<>(Comparator.comparingInt(Member::ofClass).thenComparingInt(Member::label));
        Map<Member, Long> counts = new HashMap<>();
        groupPairs.members(group).forEach((of, ranks) -> {
            for (int peer : ranks) {
                if (peer != rank) {
                    Member member = new Member(of, labels[peer]);
                    examples.putIfAbsent(member, peer);
                    counts.merge(member, 1L, Long::sum);
                }
            }
        });
        examples.forEach((member, example) -> visitor.visit(example, counts.getOrDefault(member, 0L)));
        for (GroupPatterns.Peers others : patterns.peers(group)) {
            for (Alike alike : others.self() ? List.<Alike>of() : members.get(others.example())) {
                visitor.visit(alike.example(), alike.count() * others.count());
            }
        }
    }
}
