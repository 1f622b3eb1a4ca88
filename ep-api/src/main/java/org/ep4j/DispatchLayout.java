package org.ep4j;

/**
 * Where a rank's tokens would go. Arrays belong to the caller.
 *
 * @param tokensPerRank {@code [R]}: tokens with at least one expert on the rank
 * @param tokensPerHost {@code [hosts]}: tokens with at least one expert on the host; hosts as
 *     {@link EpPlan#host} numbers them
 * @param selectionsPerExpert {@code [E]}: selections of the expert; a token that names it twice counts twice
 * @param tokenOnRank {@code [T][R]}: true when the token has an expert on the rank
 */
@SuppressWarnings("ArrayRecordComponent") // plain arrays are what callers index in loops; equality is not asked of it
public record DispatchLayout(
        int[] tokensPerRank, int[] tokensPerHost, int[] selectionsPerExpert, boolean[][] tokenOnRank) {}
