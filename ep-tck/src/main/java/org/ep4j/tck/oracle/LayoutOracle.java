package org.ep4j.tck.oracle;

import java.util.Set;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/**
 * The expected result of {@link org.ep4j.EpBuffer#dispatchLayout}.
 *
 * @param tokensToRank {@code [R]}
 * @param tokensToHost {@code [hosts]}
 * @param selections {@code [E]}
 * @param goesTo {@code [T][R]}
 */
@SuppressWarnings("ArrayRecordComponent") // read in loops, never compared
public record LayoutOracle(int[] tokensToRank, int[] tokensToHost, int[] selections, boolean[][] goesTo) {
    /**
     * Counts one rank's tokens.
     *
     * @param hostOf index of the host of a rank
     * @param masked ranks whose selections count as -1
     */
    public static LayoutOracle of(Workload workload, int rank, IntUnaryOperator hostOf, Set<Integer> masked) {
        int hosts = IntStream.range(0, workload.ranks()).map(hostOf).max().orElse(-1) + 1;
        int tokens = workload.tokens(rank);
        int[] perRank = new int[workload.ranks()];
        int[] perHost = new int[hosts];
        int[] perExpert = new int[workload.experts()];
        boolean[][] on = new boolean[tokens][workload.ranks()];
        for (int token = 0; token < tokens; token++) {
            boolean[] hostSeen = new boolean[hosts];
            for (int k = 0; k < workload.topK(); k++) {
                int expert = workload.expert(rank, token, k);
                if (expert >= 0 && !masked.contains(workload.rankOf(expert))) {
                    perExpert[expert]++;
                    on[token][workload.rankOf(expert)] = true;
                    hostSeen[hostOf.applyAsInt(workload.rankOf(expert))] = true;
                }
            }
            for (int r = 0; r < perRank.length; r++) {
                perRank[r] += on[token][r] ? 1 : 0;
            }
            for (int h = 0; h < hosts; h++) {
                perHost[h] += hostSeen[h] ? 1 : 0;
            }
        }
        return new LayoutOracle(perRank, perHost, perExpert, on);
    }
}
