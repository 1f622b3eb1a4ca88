package org.ep4j.engine.sync;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.ep4j.EpPath;
import org.ep4j.plan.GroupPlan;

/**
 * Which ranks forward rows. Where a plan consists of domains (ranks that map each other's memory, most often those of one host) with
 * posted paths between them, a token is posted to each domain once, to the relay there: the rank whose index in its domain is the
 * sender's index in its own, modulo the size of the relay's domain. The relay stores the row to all ranks of its domain that need it.
 * Sender and relay most often have NICs of one rail. Immutable; the same on all ranks.
 */
public final class Relays {
    private final boolean posted;

    /** By rank; empty if no rank forwards rows. */
    private final int[] domain;

    /** By domain: its ranks, ascending. */
    private final List<List<Integer>> members;

    /** By rank: its index in its domain. */
    private final int[] index;

    /** By index: the ranks that have it, ascending. */
    private final List<List<Integer>> atIndex = new ArrayList<>();

    private Relays(boolean posted, int[] domain, List<List<Integer>> members) {
        this.posted = posted;
        this.domain = domain;
        this.members = members;
        this.index = new int[domain.length];
        for (List<Integer> ranks : members) {
            for (int i = 0; i < ranks.size(); i++) {
                index[ranks.get(i)] = i;
            }
        }
        for (int rank = 0; rank < domain.length; rank++) {
            // A rank has a lower one before it in its domain, so indices come in order.
            if (index[rank] == atIndex.size()) {
                atIndex.add(new ArrayList<>());
            }
            atIndex.get(index[rank]).add(rank);
        }
    }

    /** Nothing is posted. */
    public static Relays none() {
        return new Relays(false, new int[0], List.of());
    }

    public static Relays of(GroupPlan plan) {
        if (plan.exampleRanks().stream()
                .allMatch(rank -> Set.of(EpPath.Kind.MAPPED).containsAll(plan.pathKinds(rank)))) {
            return none();
        }
        Relays direct = new Relays(true, new int[0], List.of());
        if (!plan.options().relays()) {
            return direct;
        }
        int[] domain = new int[plan.ranks()];
        Arrays.fill(domain, -1);
        List<List<Integer>> members = new ArrayList<>();
        for (int rank = 0; rank < domain.length; rank++) {
            List<Integer> peers = plan.mappedPeers(rank);
            int own = domain[rank];
            if (!peers.stream().allMatch(peer -> domain[peer] == own)
                    || (own >= 0 && peers.size() + 1 != members.get(own).size())) {
                // Domains overlap.
                return direct;
            }
            if (own < 0) {
                List<Integer> all = new ArrayList<>(peers);
                all.add(-1 - Collections.binarySearch(peers, rank), rank);
                all.forEach(member -> domain[member] = members.size());
                members.add(all);
            }
        }
        return new Relays(true, domain, members);
    }

    /** Returns whether some ranks post to others. */
    public boolean isPosted() {
        return posted;
    }

    /** Returns whether some ranks forward what others send. */
    public boolean isUsed() {
        return members.size() > 1 && members.stream().anyMatch(ranks -> ranks.size() > 1);
    }

    /**
     * Returns the rank that forwards what {@code source} sends to {@code target}; -1 if it is sent directly: inside a domain, to a
     * domain of one rank, or when the relay is masked.
     */
    public int relay(int source, int target, Mask mask) {
        if (domain.length == 0 || domain[source] == domain[target]) {
            return -1;
        }
        List<Integer> there = members.get(domain[target]);
        int relay = there.get(index[source] % there.size());
        return there.size() == 1 || mask.has(relay) ? -1 : relay;
    }

    /** Returns the index of {@code source} among the ranks whose rows {@code relay} forwards. */
    public int sourceIndex(int source, int relay) {
        int ranks = members.get(domain[relay]).size();
        if (ranks == 1) {
            return 0;
        }
        // Of the relay's domain only the relay itself has such an index.
        int below = relay < source ? -1 : 0;
        for (int there = index[relay]; there < atIndex.size(); there += ranks) {
            int found = Collections.binarySearch(atIndex.get(there), source);
            below += found < 0 ? -1 - found : found;
        }
        return below;
    }

    /** Returns the largest number of ranks whose rows one rank forwards. */
    public int maxSources() {
        int most = 0;
        for (int relay = 0; relay < domain.length; relay++) {
            most = Math.max(most, sourceIndex(domain.length, relay));
        }
        return most;
    }
}
