package org.ep4j.examples.moe;

import java.util.Comparator;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.ep4j.DataType;

/**
 * The model of one layer, the same on every rank: a gate and one square matrix for each expert, all of BF16 numbers.
 *
 * @param hidden H
 * @param topK K
 * @param gate {@code [E, H]}
 * @param matrices {@code [E, H in, H out]}
 */
@SuppressWarnings("ArrayRecordComponent") // nobody compares models
record Weights(int hidden, int topK, float[][] gate, float[][] matrices) {
    static Weights random(int hidden, int experts, int topK, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        float[][] gate = new float[experts][];
        float[][] matrices = new float[experts][];
        for (int e = 0; e < experts; e++) {
            gate[e] = numbers(random, hidden);
            matrices[e] = numbers(random, hidden * hidden);
        }
        return new Weights(hidden, topK, gate, matrices);
    }

    /** Between -1 / 8 and 1 / 8. */
    static float[] numbers(SplittableRandom random, int count) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = rounded((float) (random.nextDouble() - 0.5) / 4);
        }
        return numbers;
    }

    private static float rounded(float value) {
        return DataType.fromBf16(DataType.toBf16(value));
    }

    int experts() {
        return gate.length;
    }

    /** The K experts with the highest scores for a row, best first. */
    int[] choose(float[] x) {
        float[] scores = scores(x);
        return IntStream.range(0, experts())
                .boxed()
                .sorted(Comparator.comparing((Integer e) -> -scores[e]).thenComparing(e -> e))
                .limit(topK)
                .mapToInt(Integer::intValue)
                .toArray();
    }

    /** Softmax over the chosen ones. */
    float[] shares(float[] x, int[] chosen) {
        float[] scores = scores(x);
        double sum = 0;
        for (int e : chosen) {
            sum += Math.exp(scores[e]);
        }
        float[] shares = new float[chosen.length];
        for (int k = 0; k < chosen.length; k++) {
            shares[k] = (float) (Math.exp(scores[chosen[k]]) / sum);
        }
        return shares;
    }

    private float[] scores(float[] x) {
        float[] scores = new float[experts()];
        for (int e = 0; e < experts(); e++) {
            for (int h = 0; h < hidden; h++) {
                scores[e] = Math.fma(x[h], gate[e][h], scores[e]);
            }
        }
        return scores;
    }

    /**
     * {@code share * relu(x * matrix)}, FP32 sums in the order of the channels, rounded once: what {@code experts.cu} does.
     */
    void apply(int expert, float[] x, float share, float[] out) {
        float[] matrix = matrices[expert];
        for (int column = 0; column < hidden; column++) {
            float sum = 0;
            for (int h = 0; h < hidden; h++) {
                sum = Math.fma(x[h], matrix[h * hidden + column], sum);
            }
            out[column] = rounded(share * Math.max(sum, 0));
        }
    }
}
