package org.ep4j;

/**
 * How a combine sums rows; results are bit-identical on every backend and in every run. All sums are FP32. Constants may
 * be added: keep a {@code default} where you switch over them.
 */
public enum CombinePrecision {
    /** Every selection's row on the token's rank, in top-k order; rounded to BF16 once. */
    EXACT,
    /**
     * Rows of one rank are first added there in top-k order and rounded to BF16; the token's rank adds these in the order
     * in which the ranks first appear in the top-k list. Fewer bytes travel.
     */
    RANK_PARTIAL
}
