package org.ep4j.plan;

/**
 * Lanes between two ranks. Over NICs, a pair with P ports has P x Q queue pairs; lane {@code c} uses port {@code c % P} and
 * queue pair {@code (c / P) % Q} of it, as in the multi-queue patch of NVSHMEM's host transport by Infrawaves. Loads and
 * stores need no queue: a MAPPED path has one lane, and channels are told apart by their counters.
 */
final class Lanes {
    /** DeepEP has a queue pair for each local expert; DeepSeek-V3 at 32 ranks has 8 of them. */
    private static final int LOW_LATENCY = 8;

    /** DeepEP has a channel for every two SMs, and 24 SMs where it fills the NICs. */
    private static final int HIGH_THROUGHPUT = 12;

    /**
     * Most lanes of a rank to all others, when the number is ours to choose: a quarter of the 131,072 queue pairs of a
     * ConnectX ({@code max_qp} of ibv_devinfo), which other groups and libraries share.
     */
    private static final int MOST = 32_768;

    private Lanes() {}

    /**
     * Number of lanes of a posted path.
     *
     * @param wanted what the user asked for; 0 for a number that suits the objective
     * @param ports the larger number of ports of the two ranks; at least 1
     * @param ranks ranks of the group
     */
    static int count(int wanted, Objective objective, int ports, int ranks) {
        int usual = objective == Objective.LOW_LATENCY ? LOW_LATENCY : HIGH_THROUGHPUT;
        int lanes = wanted > 0 ? wanted : Math.max(1, Math.min(usual, MOST / Math.max(1, ranks - 1)));
        return (lanes + ports - 1) / ports * ports;
    }
}
