package org.ep4j.examples.moe;

import java.util.Arrays;

/**
 * How far the output of several ranks is from that of one.
 *
 * @param different elements whose bits differ
 * @param largest difference
 * @param beyond elements that differ more than {@link #tolerance} allows
 */
record Comparison(int different, float largest, int beyond) {
    /** Of rank-partial sums: each is rounded to 8 bits, at most once a term, and the result once on either side. */
    private static final float PER_SIZE = 0x1p-7f;

    static Comparison of(Weights weights, float[][] tokens, float[][] seen, float[][] expected) {
        int different = 0;
        int beyond = 0;
        float largest = 0;
        for (int t = 0; t < tokens.length; t++) {
            float[] tolerance = tolerance(weights, tokens[t]);
            for (int h = 0; h < weights.hidden(); h++) {
                float apart = Math.abs(seen[t][h] - expected[t][h]);
                different += Float.compare(seen[t][h], expected[t][h]) == 0 ? 0 : 1;
                beyond += apart <= tolerance[h] ? 0 : 1;
                largest = Math.max(largest, apart);
            }
        }
        return new Comparison(different, largest, beyond);
    }

    /** {@code 2^-7} times the sum of the terms' sizes. */
    private static float[] tolerance(Weights weights, float[] token) {
        int[] chosen = weights.choose(token);
        float[] shares = weights.shares(token, chosen);
        float[] sizes = new float[weights.hidden()];
        Arrays.fill(sizes, Float.MIN_NORMAL);
        float[] term = new float[weights.hidden()];
        for (int k = 0; k < chosen.length; k++) {
            weights.apply(chosen[k], token, shares[k], term);
            for (int h = 0; h < sizes.length; h++) {
                sizes[h] += PER_SIZE * Math.abs(term[h]);
            }
        }
        return sizes;
    }
}
