package org.ep4j;

import java.util.Arrays;
import java.util.List;

/**
 * Assignment of experts to ranks. Any map is allowed: uneven, not contiguous, ranks without experts. On its rank an
 * expert has a local index: its place among the rank's experts in ascending order of expert id. Immutable.
 */
public final class ExpertPlacement {
    private final int ranks;
    private final int[] owner;
    private final int[] localIndex;
    private final int[][] byRank;

    private ExpertPlacement(int ranks, int[] owner) {
        this.ranks = ranks;
        this.owner = owner;
        this.localIndex = new int[owner.length];
        int[] counts = new int[ranks];
        for (int e = 0; e < owner.length; e++) {
            localIndex[e] = counts[owner[e]]++;
        }
        this.byRank = new int[ranks][];
        for (int r = 0; r < ranks; r++) {
            byRank[r] = new int[counts[r]];
        }
        for (int e = 0; e < owner.length; e++) {
            byRank[owner[e]][localIndex[e]] = e;
        }
    }

    /**
     * Contiguous blocks: the first {@code experts % ranks} ranks hold one expert more than the others.
     *
     * @throws EpArgumentException when a number is below 1
     */
    public static ExpertPlacement block(int experts, int ranks) {
        if (ranks < 1) {
            throw new EpArgumentException("ranks", ranks, ">= 1", "pass the size of the group");
        }
        if (experts < 1) {
            throw new EpArgumentException("experts", experts, ">= 1", "pass the number of experts of the model");
        }
        int[] owner = new int[experts];
        int base = experts / ranks;
        int larger = experts % ranks;
        int expert = 0;
        for (int r = 0; r < ranks; r++) {
            int count = base + (r < larger ? 1 : 0);
            Arrays.fill(owner, expert, expert + count, r);
            expert += count;
        }
        return new ExpertPlacement(ranks, owner);
    }

    /**
     * Creates a placement from the rank of every expert.
     *
     * @param ranks size of the group
     * @param owner rank of expert {@code e} at index {@code e}; copied
     * @throws EpArgumentException when an owner is not a rank
     */
    public static ExpertPlacement of(int ranks, int... owner) {
        if (owner.length < 1) {
            throw new EpArgumentException("experts", 0, ">= 1", "give every expert an owner");
        }
        for (int e = 0; e < owner.length; e++) {
            if (owner[e] < 0 || owner[e] >= ranks) {
                throw new EpArgumentException(
                        "owner[" + e + "]", owner[e], "a rank in [0, " + ranks + ")", "give every expert a rank");
            }
        }
        return new ExpertPlacement(ranks, owner.clone());
    }

    /**
     * Returns the placement for a group of only some of the ranks, as after the others are lost. The ranks are numbered anew
     * in the order given and keep their experts; every other expert, in ascending order, goes to the rank that has the
     * fewest, to the first of several.
     *
     * @param ranks ranks of this placement that remain, each once
     * @throws EpArgumentException when there is none, or one is no rank or named twice
     */
    public ExpertPlacement onto(List<Integer> ranks) {
        if (ranks.isEmpty()) {
            throw new EpArgumentException("ranks", ranks, "one rank at least", "name the ranks that remain");
        }
        int[] renumbered = new int[this.ranks];
        Arrays.fill(renumbered, -1);
        int[] load = new int[ranks.size()];
        for (int i = 0; i < load.length; i++) {
            int rank = ranks.get(i);
            if (rank < 0 || rank >= this.ranks || renumbered[rank] >= 0) {
                throw new EpArgumentException(
                        "ranks", ranks, "different ranks in [0, " + this.ranks + ")", "name each rank once");
            }
            renumbered[rank] = i;
            load[i] = byRank[rank].length;
        }
        int[] moved = new int[owner.length];
        for (int e = 0; e < owner.length; e++) {
            int kept = renumbered[owner[e]];
            moved[e] = kept >= 0 ? kept : leastLoaded(load);
            load[moved[e]] += kept >= 0 ? 0 : 1;
        }
        return new ExpertPlacement(load.length, moved);
    }

    private static int leastLoaded(int[] load) {
        int least = 0;
        for (int i = 1; i < load.length; i++) {
            least = load[i] < load[least] ? i : least;
        }
        return least;
    }

    /** Size of the group. */
    public int ranks() {
        return ranks;
    }

    /** Number of experts. */
    public int experts() {
        return owner.length;
    }

    /** Rank that holds {@code expert}. */
    public int rankOf(int expert) {
        return owner[expert];
    }

    /** Index of {@code expert} among the experts of its rank, from 0. */
    public int localIndex(int expert) {
        return localIndex[expert];
    }

    /** Number of experts that {@code rank} holds. */
    public int localExperts(int rank) {
        return byRank[rank].length;
    }

    /** Expert ids that {@code rank} holds, ascending. */
    public int[] expertsOf(int rank) {
        return byRank[rank].clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ExpertPlacement p && p.ranks == ranks && Arrays.equals(p.owner, owner);
    }

    @Override
    public int hashCode() {
        return 31 * ranks + Arrays.hashCode(owner);
    }

    @Override
    public String toString() {
        return equals(block(owner.length, ranks))
                ? "block(" + owner.length + " experts, " + ranks + " ranks)"
                : "map" + Arrays.toString(owner);
    }
}
