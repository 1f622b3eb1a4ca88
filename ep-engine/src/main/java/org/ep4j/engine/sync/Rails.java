package org.ep4j.engine.sync;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;

/**
 * Who passes rows on. Where a plan falls into islands (ranks that map each other's memory, most often those of one host) with
 * posted paths between them, a token goes to an island once, to the rank there that has the sender's place in its own island,
 * counted round, and from there by stores to all ranks of the island that it is for. Such a pair of ranks most often has NICs
 * of one rail. Immutable; the same on all ranks.
 */
public final class Rails {
    private final boolean posted;

    /** By rank. */
    private final int[] island;

    /** By island, ascending. */
    private final List<List<Integer>> members;

    private Rails(boolean posted, int[] island, List<List<Integer>> members) {
        this.posted = posted;
        this.island = island;
        this.members = members;
    }

    /** Nothing is posted. */
    public static Rails none() {
        return new Rails(false, new int[0], List.of());
    }

    /** The rails of a plan. */
    public static Rails of(EpPlan plan) {
        if (plan.groups().stream().allMatch(g -> isMapped(g.example().offer().kind()))) {
            return none();
        }
        if (!plan.options().rails()) {
            return straight();
        }
        int[] island = new int[plan.ranks()];
        Arrays.fill(island, -1);
        List<List<Integer>> members = new ArrayList<>();
        for (int rank = 0; rank < island.length; rank++) {
            List<Integer> all = withPeers(plan, rank);
            boolean known = island[rank] >= 0;
            if (known ? !all.equals(members.get(island[rank])) : all.stream().anyMatch(r -> island[r] >= 0)) {
                // Islands overlap: rows go straight to where they belong.
                return straight();
            }
            if (!known) {
                all.forEach(member -> island[member] = members.size());
                members.add(all);
            }
        }
        return new Rails(true, island, members);
    }

    /** A rank and those that it maps, ascending. */
    private static List<Integer> withPeers(EpPlan plan, int rank) {
        List<Integer> all = new ArrayList<>(plan.mappedPeers(rank));
        all.add(rank);
        all.sort(null);
        return List.copyOf(all);
    }

    private static Rails straight() {
        return new Rails(true, new int[0], List.of());
    }

    private static boolean isMapped(PathKind kind) {
        return kind == PathKind.MAPPED || kind == PathKind.LOCAL;
    }

    /** True when some ranks post to others. */
    public boolean posted() {
        return posted;
    }

    /** True when some ranks pass on what others send. */
    public boolean passes() {
        return members.size() > 1 && members.stream().anyMatch(island -> island.size() > 1);
    }

    /** True when {@code a} and {@code b} are of one island, or nothing is passed on. */
    public boolean together(int a, int b) {
        return island.length == 0 || island[a] == island[b];
    }

    /**
     * The rank that passes on what {@code source} sends to {@code target}; -1 where it goes straight: inside of an island, to
     * a rank that is an island alone, or when that rank is masked.
     */
    public int via(int source, int target, Mask mask) {
        if (together(source, target)) {
            return -1;
        }
        List<Integer> there = members.get(island[target]);
        int place = members.get(island[source]).indexOf(source);
        int via = there.get(place % there.size());
        return there.size() == 1 || mask.has(via) ? -1 : via;
    }

    /** Which of those whose rows {@code via} passes on {@code source} is, from 0. */
    public int slot(int source, int via) {
        int slot = 0;
        for (int one = 0; one < members.size(); one++) {
            slot += passedOn(one, via, source);
        }
        return slot;
    }

    /** How many ranks of an island that are lower than {@code end} have their rows passed on by {@code via}. */
    private int passedOn(int from, int via, int end) {
        List<Integer> there = members.get(island[via]);
        if (from == island[via] || there.size() == 1) {
            return 0;
        }
        List<Integer> sources = members.get(from);
        int passed = 0;
        for (int place = there.indexOf(via); place < sources.size(); place += there.size()) {
            passed += sources.get(place) < end ? 1 : 0;
        }
        return passed;
    }

    /** Most ranks whose rows one rank passes on. */
    public int mostSources() {
        int most = 0;
        for (int via = 0; via < island.length; via++) {
            most = Math.max(most, slot(island.length, via));
        }
        return most;
    }
}
