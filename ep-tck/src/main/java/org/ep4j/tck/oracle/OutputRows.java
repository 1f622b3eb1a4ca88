package org.ep4j.tck.oracle;

/** The rows that experts return: a pure function, so that the token's rank can compute the rows that arrive. */
@FunctionalInterface
public interface OutputRows {
    /**
     * Computes one row.
     *
     * @param sourceRank rank of the token
     * @param sourceToken index of the token on its rank
     * @param key by-rank layout: the rank that computed the row; by expert and low latency: the place of the selection in
     *     the token's top-k list
     * @param out {@code [H]} gets BF16
     */
    void row(int sourceRank, int sourceToken, int key, short[] out);
}
