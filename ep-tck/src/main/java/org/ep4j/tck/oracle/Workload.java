package org.ep4j.tck.oracle;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The inputs of one exchange on all ranks: who sends how many tokens, where they go and what they hold. Routing is stored;
 * rows and weights are computed from the seed whenever they are asked for. Immutable; made by {@link Workloads}.
 */
public final class Workload {
    private static final long X = 1;
    private static final long FP8 = 2;
    private static final long SCALE = 3;
    private static final long WEIGHT = 4;
    private static final long OUTPUT = 5;
    private static final long BIAS = 6;
    private static final long RETURNED = 7;

    private final int hidden;
    private final int topK;
    private final int ranks;
    private final int[] owner;
    private final int[] localIndex;
    private final int[][] ids;
    private final long seed;
    private final DataPattern data;
    private final boolean roundWeights;

    Workload(
            int hidden,
            int topK,
            int ranks,
            int[] owner,
            int[][] ids,
            long seed,
            DataPattern data,
            boolean roundWeights) {
        this.hidden = hidden;
        this.topK = topK;
        this.ranks = ranks;
        this.owner = owner;
        this.localIndex = new int[owner.length];
        int[] seen = new int[ranks];
        for (int e = 0; e < owner.length; e++) {
            localIndex[e] = seen[owner[e]]++;
        }
        this.ids = ids;
        this.seed = seed;
        this.data = data;
        this.roundWeights = roundWeights;
    }

    /** The same routing with other rows and weights. */
    public Workload withData(long otherSeed) {
        return new Workload(hidden, topK, ranks, owner, ids, otherSeed, data, roundWeights);
    }

    /** What everything random was drawn from. */
    public long seed() {
        return seed;
    }

    /** R. */
    public int ranks() {
        return ranks;
    }

    /** H. */
    public int hidden() {
        return hidden;
    }

    /** E. */
    public int experts() {
        return owner.length;
    }

    /** K. */
    public int topK() {
        return topK;
    }

    /** S, scales of an FP8 row. */
    public int scales() {
        return (hidden + 127) / 128;
    }

    /** T of {@code rank}. */
    public int tokens(int rank) {
        return ids[rank].length / topK;
    }

    /** Expert of selection {@code place}, or -1. */
    public int expert(int rank, int token, int place) {
        return ids[rank][token * topK + place];
    }

    /** Experts of all selections of a token. */
    public IntStream selections(int rank, int token) {
        return Arrays.stream(ids[rank], token * topK, (token + 1) * topK).filter(expert -> expert >= 0);
    }

    /** {@code [T * K]} expert ids of {@code rank}; the caller's own copy. */
    public int[] ids(int rank) {
        return ids[rank].clone();
    }

    /** Rank that holds {@code expert}. */
    public int rankOf(int expert) {
        return owner[expert];
    }

    /** Place of {@code expert} among its rank's experts in ascending order. */
    public int localIndex(int expert) {
        return localIndex[expert];
    }

    /** Experts of {@code rank}, ascending. */
    public int[] expertsOf(int rank) {
        int[] found = new int[owner.length];
        int count = 0;
        for (int e = 0; e < owner.length; e++) {
            if (owner[e] == rank) {
                found[count++] = e;
            }
        }
        return Arrays.copyOf(found, count);
    }

    /** Fills {@code out} with the BF16 row of a token. */
    public void row(int rank, int token, short[] out) {
        data.fill(Mix.hash(seed, X, rank, token), out);
    }

    /** Fills {@code out} with the FP8 row of a token: any codes. */
    public void fp8Row(int rank, int token, byte[] out) {
        long key = Mix.hash(seed, FP8, rank, token);
        for (int h = 0; h < out.length; h++) {
            out[h] = (byte) (Mix.hash(key + (h & ~7)) >>> ((h & 7) * 8));
        }
    }

    /** Fills {@code out} with the scales of an FP8 row. */
    public void fp8Scales(int rank, int token, float[] out) {
        long key = Mix.hash(seed, SCALE, rank, token);
        for (int s = 0; s < out.length; s++) {
            out[s] = unit(Mix.hash(key + s)) + 0x1p-10f;
        }
    }

    /** Weight of a selection: above 0, at most 2, also where the id is -1. */
    public float weight(int rank, int token, int place) {
        long hash = Mix.hash(seed, WEIGHT, rank, (long) token * topK + place);
        return roundWeights ? 1f : 2f - 2f * unit(hash);
    }

    /** {@code [T * K]} weights of {@code rank}. */
    public float[] weights(int rank) {
        float[] all = new float[tokens(rank) * topK];
        for (int i = 0; i < all.length; i++) {
            all[i] = weight(rank, i / topK, i % topK);
        }
        return all;
    }

    /** Weight that experts give back for a selection in a high-throughput combine. */
    public float returnedWeight(int rank, int token, int place) {
        return 1f + unit(Mix.hash(seed, RETURNED, rank, (long) token * topK + place));
    }

    /** Fills {@code out} with a token's row of bias {@code index}. */
    public void biasRow(int index, int rank, int token, short[] out) {
        summable().fill(Mix.hash(seed, BIAS + 16L * index, rank, token), out);
    }

    /** Expert outputs that do not depend on what arrived: random rows of this workload's pattern. */
    public OutputRows randomOutputs() {
        return (rank, token, key, out) ->
                summable().fill(Mix.hash(seed, OUTPUT, rank, ((long) token << 16) + key), out);
    }

    /** Sums of NaNs have no defined bits, so what is added up holds none. */
    private DataPattern summable() {
        return data == DataPattern.ANY_BITS ? DataPattern.PLAIN : data;
    }

    /** Expert outputs equal to the token's own row, whoever computes them. */
    public OutputRows echoOutputs() {
        return (rank, token, key, out) -> row(rank, token, out);
    }

    private static float unit(long hash) {
        return (hash >>> 40) * 0x1p-24f;
    }
}
