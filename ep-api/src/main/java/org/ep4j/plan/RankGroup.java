package org.ep4j.plan;

import java.util.List;

/**
 * Ranks with like peers: each has as many peers of every {@link EpPlan#kind kind} of pairs as the others. What is counted over
 * the peers of one of them holds for all.
 *
 * @param example the rank whose peers are listed; one of {@code ranks}
 * @param ranks all of them, ascending
 * @param peers the peers of {@code example}, like ones together
 */
public record RankGroup(int example, List<Integer> ranks, List<PeerGroup> peers) {
    /** Copies the lists. */
    public RankGroup {
        ranks = List.copyOf(ranks);
        peers = List.copyOf(peers);
    }
}
