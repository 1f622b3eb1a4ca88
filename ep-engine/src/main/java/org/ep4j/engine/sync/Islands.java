package org.ep4j.engine.sync;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.PeerGroup;
import org.ep4j.plan.RankGroup;

/**
 * Ranks by islands: those of one island map each other's memory, and no rank maps memory of another island. Found from groups of
 * like ranks and from neighbours, without looking at all pairs. Immutable; the same on all ranks.
 */
final class Islands {
    /** No rank is in any. */
    static final Islands NONE = new Islands(new int[0], new int[0], List.of());

    /** By rank. */
    private final int[] island;

    /** By rank: place in its island. */
    private final int[] place;

    /** By island, ascending. */
    private final List<List<Integer>> members;

    /**
     * By size of an island, but for those of one rank, whom nobody passes on rows; then by rank: how many ranks with lower
     * numbers have the same place, counted round by the size.
     */
    private final Map<Integer, int[]> alikeBelow = new TreeMap<>();

    private final int mostSources;

    private Islands(int[] island, int[] place, List<List<Integer>> members) {
        this.island = island;
        this.place = place;
        this.members = members;
        int most = 0;
        for (List<Integer> ranks : members) {
            int size = ranks.size();
            if (size > 1 && !alikeBelow.containsKey(size)) {
                int[] seen = new int[size];
                int[] below = new int[island.length];
                for (int rank = 0; rank < below.length; rank++) {
                    below[rank] = seen[place[rank] % size]++;
                }
                alikeBelow.put(size, below);
                // One of those at each place is the rank itself, which passes on.
                most = Math.max(most, Arrays.stream(seen).max().orElse(1) - 1);
            }
        }
        this.mostSources = most;
    }

    /** Of a plan; empty where they overlap. */
    static Optional<Islands> of(EpPlan plan) {
        return new Finder(plan).find();
    }

    int count() {
        return members.size();
    }

    int largest() {
        return members.stream().mapToInt(List::size).max().orElse(0);
    }

    /** Number of the island of a rank. */
    int of(int rank) {
        return island[rank];
    }

    /** Ranks of the island of a rank, ascending. */
    List<Integer> members(int rank) {
        return members.get(island[rank]);
    }

    /** Place of a rank among the members of its island. */
    int place(int rank) {
        return place[rank];
    }

    /** How many ranks with lower numbers have the place of {@code rank}, counted round by {@code size}, that of some island. */
    int alikeBelow(int rank, int size) {
        int[] below = alikeBelow.get(size);
        if (below == null) {
            throw new IllegalArgumentException("no rank passes rows on in an island of " + size);
        }
        return below[rank];
    }

    /** Most ranks of other islands that have the place of a rank, counted round by the size of its island; 0 for islands of one. */
    int mostSources() {
        return mostSources;
    }

    private static final class Finder {
        private final EpPlan plan;
        private final int[] island;
        private final int[] place;
        private final List<List<Integer>> members = new ArrayList<>();

        /** By host, and by domain: islands that have a rank there. */
        private final Map<String, List<Integer>> onHost = new HashMap<>();

        private final Map<String, List<Integer>> inDomain = new HashMap<>();

        Finder(EpPlan plan) {
            this.plan = plan;
            this.island = new int[plan.ranks()];
            this.place = new int[plan.ranks()];
        }

        Optional<Islands> find() {
            List<RankGroup> groups = plan.rankGroups();
            boolean near = groups.stream().allMatch(this::mapsNearPeersAlone);
            for (int rank = 0; rank < island.length; rank++) {
                int found = search(rank, near);
                if (found == members.size()) {
                    members.add(new ArrayList<>());
                }
                island[rank] = found;
                place[rank] = members.get(found).size();
                members.get(found).add(rank);
                remember(onHost, plan.profiles().get(rank).hostId(), found);
                String domain = plan.profiles().get(rank).domain();
                if (!domain.isEmpty()) {
                    remember(inDomain, domain, found);
                }
            }
            boolean whole = groups.stream().allMatch(this::isWhole);
            return whole ? Optional.of(new Islands(island, place, members)) : Optional.empty();
        }

        private static void remember(Map<String, List<Integer>> islands, String key, int found) {
            List<Integer> known = islands.computeIfAbsent(key, k -> new ArrayList<>());
            if (!known.contains(found)) {
                known.add(found);
            }
        }

        /** True where the ranks map no rank beyond their host and domain. What holds for an example holds for its kind of pairs. */
        private boolean mapsNearPeersAlone(RankGroup alike) {
            var own = plan.profiles().get(alike.example());
            return alike.peers().stream()
                    .map(PeerGroup::example)
                    .filter(peer -> maps(alike.example(), peer) || maps(peer, alike.example()))
                    .map(peer -> plan.profiles().get(peer))
                    .allMatch(peer -> peer.hostId().equals(own.hostId())
                            || (!own.domain().isEmpty() && own.domain().equals(peer.domain())));
        }

        /** The island of a rank, or the number of islands where it is in none of them. */
        private int search(int rank, boolean near) {
            List<Integer> candidates = new ArrayList<>(
                    onHost.getOrDefault(plan.profiles().get(rank).hostId(), List.of()));
            candidates.addAll(inDomain.getOrDefault(plan.profiles().get(rank).domain(), List.of()));
            for (int number : candidates) {
                if (maps(members.get(number).get(0), rank)) {
                    return number;
                }
            }
            for (int number = 0; !near && number < members.size(); number++) {
                if (maps(members.get(number).get(0), rank)) {
                    return number;
                }
            }
            return members.size();
        }

        /** True where like ranks map their whole island, and nobody else. */
        private boolean isWhole(RankGroup alike) {
            int mapped = alike.peers().stream()
                    .filter(peers -> maps(alike.example(), peers.example()))
                    .mapToInt(PeerGroup::peers)
                    .sum();
            return alike.ranks().stream().mapToInt(Integer::intValue).allMatch(rank -> {
                List<Integer> own = members.get(island[rank]);
                return own.size() == mapped + 1
                        && own.stream()
                                .mapToInt(Integer::intValue)
                                .allMatch(other -> other == rank || maps(rank, other));
            });
        }

        private boolean maps(int from, int to) {
            return plan.offer(from, to).kind() == PathKind.MAPPED;
        }
    }
}
