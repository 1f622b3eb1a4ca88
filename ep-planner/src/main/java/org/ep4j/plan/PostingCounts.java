package org.ep4j.plan;

/** Numbers of lanes and proxy threads for posted paths, where the settings leave them to the planner. */
final class PostingCounts {
    /** DeepEP has a queue pair for each local expert; DeepSeek-V3 at 32 ranks has 8 of them. */
    private static final int LOW_LATENCY_LANES = 8;

    /** DeepEP has a channel for every two SMs, and 24 SMs where it fills the NICs. */
    private static final int HIGH_THROUGHPUT_LANES = 12;

    /**
     * Most lanes of a rank to all others, when the number is ours to choose: a quarter of the 131,072 queue pairs of a
     * ConnectX ({@code max_qp} of ibv_devinfo), which other groups and libraries share.
     */
    private static final int MOST_LANES = 32_768;

    /** Where 12 of them are slower than 8, and 8 faster than 4: MSCCL++'s expert parallelism on H100. */
    private static final int HOPPER_PROXIES = 8;

    /** The same on B200, whose hosts post for fewer and faster NICs. */
    private static final int BLACKWELL_PROXIES = 1;

    /** UCCL-EP ({@code ep/include/common.hpp}, kNumProxyThs), on any GPU. */
    private static final int OTHER_PROXIES = 4;

    private static final int FIRST_BLACKWELL = 100;

    private PostingCounts() {}

    /**
     * Number of lanes between two ranks. Over NICs, a pair with P ports has P x Q queue pairs; lane {@code c} uses port
     * {@code c % P} and queue pair {@code (c / P) % Q} of it, as in the multi-queue patch of NVSHMEM's host transport
     * by Infrawaves. Loads and stores need no queue: a MAPPED path has one lane, and its channels differ in their
     * counters.
     *
     * @param wanted setting of the user; 0 for a number that suits the objective
     * @param ports the larger number of ports of the two ranks; at least 1
     */
    static int lanes(int wanted, Objective objective, int ports, int ranks) {
        int usual = objective == Objective.LOW_LATENCY ? LOW_LATENCY_LANES : HIGH_THROUGHPUT_LANES;
        int lanes = wanted > 0 ? wanted : Math.max(1, Math.min(usual, MOST_LANES / Math.max(1, ranks - 1)));
        return (lanes + ports - 1) / ports * ports;
    }

    /**
     * Number of proxy threads that post for one GPU. Each polls, so it takes a CPU core from everything else; more
     * threads keep up with more messages.
     *
     * @param wanted setting of the user; 0 for a number that suits the GPU
     * @param processors hardware threads that the rank has to itself; 0 when unknown
     */
    static int proxies(int wanted, String architecture, int processors) {
        if (wanted > 0) {
            return wanted;
        }
        int usual = usualProxies(architecture);
        return processors > 0 ? Math.min(usual, processors) : usual;
    }

    private static int usualProxies(String architecture) {
        if (!architecture.matches("sm_\\d{2,4}[a-z]?")) {
            return OTHER_PROXIES;
        }
        int generation = Integer.parseInt(architecture.replaceAll("\\D", ""));
        if (generation >= FIRST_BLACKWELL) {
            return BLACKWELL_PROXIES;
        }
        return generation / 10 == 9 ? HOPPER_PROXIES : OTHER_PROXIES;
    }
}
