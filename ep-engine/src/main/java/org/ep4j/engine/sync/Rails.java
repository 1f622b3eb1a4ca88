package org.ep4j.engine.sync;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
        MappedPairs mapped = new MappedPairs(plan, new HashMap<>());
        int[] island = new int[plan.ranks()];
        List<List<Integer>> members = new ArrayList<>();
        for (int r = 0; r < island.length; r++) {
            int rank = r;
            int found = 0;
            while (found < members.size() && !mapped.test(members.get(found).get(0), rank)) {
                found++;
            }
            if (found == members.size()) {
                members.add(new ArrayList<>());
            }
            island[rank] = found;
            members.get(found).add(rank);
        }
        boolean whole = true;
        for (int from = 0; from < island.length; from++) {
            for (int to = 0; to < island.length; to++) {
                whole &= from == to || mapped.test(from, to) == (island[from] == island[to]);
            }
        }
        // Where islands overlap, rows go straight to where they belong.
        return whole ? new Rails(true, island, members) : straight();
    }

    private static Rails straight() {
        return new Rails(true, new int[0], List.of());
    }

    private static boolean isMapped(PathKind kind) {
        return kind == PathKind.MAPPED || kind == PathKind.LOCAL;
    }

    /** Which pairs of different ranks map memory. There are few kinds of pairs, and to make a path takes long. */
    private record MappedPairs(EpPlan plan, Map<Integer, Boolean> byKind) {
        boolean test(int from, int to) {
            return byKind.computeIfAbsent(
                    plan.kind(from, to), kind -> plan.path(from, to).offer().kind() == PathKind.MAPPED);
        }
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
        for (int r = 0; r < source; r++) {
            slot += via(r, via, Mask.NONE) == via ? 1 : 0;
        }
        return slot;
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
