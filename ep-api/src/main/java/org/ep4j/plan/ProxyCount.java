package org.ep4j.plan;

/**
 * How many proxy threads post for one GPU, where nobody says it. Each polls, so it takes a processor from everything else; more
 * threads keep up with more messages.
 */
final class ProxyCount {
    /** Where 12 of them are slower than 8, and 8 faster than 4: MSCCL++'s expert parallelism on H100. */
    private static final int HOPPER = 8;

    /** The same on B200, whose hosts post for fewer and faster NICs. */
    private static final int BLACKWELL = 1;

    /** UCCL-EP ({@code ep/include/common.hpp}, kNumProxyThs), on any GPU. */
    private static final int OTHERS = 4;

    private static final int FIRST_BLACKWELL = 100;

    private ProxyCount() {}

    /**
     * The number.
     *
     * @param wanted what the user asked for, which holds; 0 for this rule
     * @param architecture of the GPU, {@code sm_90} or {@code gfx942}; empty when unknown
     * @param processors hardware threads that the rank has to itself; 0 when unknown
     */
    static int of(int wanted, String architecture, int processors) {
        if (wanted > 0) {
            return wanted;
        }
        int usual = usual(architecture);
        return processors > 0 ? Math.min(usual, processors) : usual;
    }

    private static int usual(String architecture) {
        if (!architecture.matches("sm_\\d{2,4}[a-z]?")) {
            return OTHERS;
        }
        int generation = Integer.parseInt(architecture.replaceAll("\\D", ""));
        if (generation >= FIRST_BLACKWELL) {
            return BLACKWELL;
        }
        return generation / 10 == 9 ? HOPPER : OTHERS;
    }
}
