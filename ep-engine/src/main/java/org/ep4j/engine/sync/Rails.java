package org.ep4j.engine.sync;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.ep4j.EpPath;
import org.ep4j.plan.GroupPlan;

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

    /** By rank: its place in its island. */
    private final int[] place;

    /** By place: the ranks that have it, ascending. */
    private final List<List<Integer>> atPlace = new ArrayList<>();

    private Rails(boolean posted, int[] island, List<List<Integer>> members) {
        this.posted = posted;
        this.island = island;
        this.members = members;
        this.place = new int[island.length];
        for (List<Integer> ranks : members) {
            for (int i = 0; i < ranks.size(); i++) {
                place[ranks.get(i)] = i;
            }
        }
        for (int rank = 0; rank < island.length; rank++) {
            // A rank has a lower one before it in its island, so places come in order.
            if (place[rank] == atPlace.size()) {
                atPlace.add(new ArrayList<>());
            }
            atPlace.get(place[rank]).add(rank);
        }
    }

    /** Nothing is posted. */
    public static Rails none() {
        return new Rails(false, new int[0], List.of());
    }

    public static Rails of(GroupPlan plan) {
        if (plan.exampleRanks().stream()
                .allMatch(rank -> Set.of(EpPath.Kind.MAPPED).containsAll(plan.pathKinds(rank)))) {
            return none();
        }
        if (!plan.options().rails()) {
            return straight();
        }
        int[] island = new int[plan.ranks()];
        Arrays.fill(island, -1);
        List<List<Integer>> members = new ArrayList<>();
        for (int rank = 0; rank < island.length; rank++) {
            List<Integer> peers = plan.mappedPeers(rank);
            int own = island[rank];
            if (!peers.stream().allMatch(peer -> island[peer] == own)
                    || (own >= 0 && peers.size() + 1 != members.get(own).size())) {
                // Islands overlap: rows go straight to where they belong.
                return straight();
            }
            if (own < 0) {
                List<Integer> all = new ArrayList<>(peers);
                all.add(-1 - Collections.binarySearch(peers, rank), rank);
                all.forEach(member -> island[member] = members.size());
                members.add(all);
            }
        }
        return new Rails(true, island, members);
    }

    private static Rails straight() {
        return new Rails(true, new int[0], List.of());
    }

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
        int via = there.get(place[source] % there.size());
        return there.size() == 1 || mask.has(via) ? -1 : via;
    }

    /** Which of those whose rows {@code via} passes on {@code source} is, from 0. */
    public int slot(int source, int via) {
        int ranks = members.get(island[via]).size();
        if (ranks == 1) {
            return 0;
        }
        // Of its own island it is itself the only rank with such a place.
        int below = via < source ? -1 : 0;
        for (int there = place[via]; there < atPlace.size(); there += ranks) {
            int found = Collections.binarySearch(atPlace.get(there), source);
            below += found < 0 ? -1 - found : found;
        }
        return below;
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
