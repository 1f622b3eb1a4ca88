package com.example.moe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import org.ep4j.Bootstrap;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A training step in high throughput. Forward: {@code y = sum of w * (x * matrix of the expert)} over the selections of a token. Backward, a
 * combine becomes a dispatch along the same routes, and a dispatch becomes a combine, which also returns the gradients of the weights.
 */
@Tag("verify")
final class TrainingTest {
    private static final int RANKS = 2;
    private static final int TOKENS = 24;
    private static final int HIDDEN = 32;
    private static final int EXPERTS = 6;
    private static final int TOP_K = 3;
    private static final int ALIGNMENT = 128;

    @Test
    void forwardAndBackward() throws InterruptedException {
        Ranks.run(RANKS, TrainingTest::rank);
    }

    private static void rank(Bootstrap bootstrap) {
        EpShape shape =
                EpShape.builder(HIDDEN, EXPERTS, TOP_K).maxTokens(TOKENS).build();
        try (EpGroup group = EpGroup.join(bootstrap, Ranks.settings().build());
                TensorArena arena = group.device().arena();
                EpBuffer buffer = group.createBuffer(shape)) {
            EpDevice device = group.device();
            int rank = group.rank();
            Reference reference = Reference.of(rank);
            Tensor x = arena.bf16(tokens(rank), TOKENS, HIDDEN);
            Tensor gradY = arena.bf16(gradients(rank), TOKENS, HIDDEN);
            Tensor ids = arena.int32(ids(rank), TOKENS, TOP_K);
            Tensor weights = arena.fp32(weights(rank), TOKENS, TOP_K);
            Tensor saved = arena.tensor(DataType.BF16, buffer.maxRows(RowLayout.BY_EXPERT, ALIGNMENT), HIDDEN);

            DispatchResult forward = buffer.dispatch(DispatchRequest.builder(x, ids)
                    .topkWeights(weights)
                    .layout(RowLayout.BY_EXPERT)
                    .expertAlignment(ALIGNMENT)
                    .worstCase()
                    .out(saved)
                    .build());
            try (DispatchHandle handle = forward.handle()) {
                Experts experts = new Experts(buffer, forward);
                CombineResult y = buffer.combine(arena.bf16(experts.forward(saved), forward.rows(), HIDDEN), handle);
                assertThat(device.floats(y.out())).isEqualTo(reference.y);

                DispatchResult gradRows = buffer.dispatch(
                        DispatchRequest.builder(gradY, handle).worstCase().build());
                // The next dispatch ends the tensors that the first one has in the buffer; its rows are in `saved`.
                assertThatThrownBy(forward::expertOffsets).isInstanceOf(EpStateException.class);
                float[] gradInputs = experts.backward(saved, gradRows.x());
                CombineResult gradX =
                        buffer.combine(CombineRequest.builder(arena.bf16(gradInputs, gradRows.rows(), HIDDEN), handle)
                                .weights(arena.fp32(experts.weightGradients, gradRows.rows()))
                                .build());
                assertThat(device.floats(gradX.out())).isEqualTo(reference.gradX);
                assertThat(device.floats(gradX.weights().orElseThrow())).isEqualTo(reference.gradWeights);
                for (int expert : buffer.placement().expertsOf(rank)) {
                    assertThat(experts.gradMatrices[buffer.placement().localIndex(expert)])
                            .as("gradient of expert %d", expert)
                            .isEqualTo(reference.gradMatrices[expert]);
                }
            }
        }
    }

    private static float[] tokens(int rank) {
        return Numbers.bf16(rank, TOKENS * HIDDEN);
    }

    /** Gradient of the loss with respect to {@code y}. */
    private static float[] gradients(int rank) {
        return Numbers.bf16(100 + rank, TOKENS * HIDDEN);
    }

    private static int[] ids(int rank) {
        return Numbers.route(200 + rank, TOKENS, TOP_K, EXPERTS);
    }

    private static float[] weights(int rank) {
        return Numbers.bf16(300 + rank, TOKENS * TOP_K);
    }

    /** {@code [H in, H out]} */
    private static float[] matrix(int expert) {
        return Numbers.bf16(400 + expert, HIDDEN * HIDDEN);
    }

    /** {@code out[j] = sum of x[h] * matrix[h][j]}. */
    private static float[] product(float[] x, float[] matrix) {
        float[] out = new float[HIDDEN];
        for (int h = 0; h < HIDDEN; h++) {
            for (int j = 0; j < HIDDEN; j++) {
                out[j] += x[h] * matrix[h * HIDDEN + j];
            }
        }
        return out;
    }

    /** {@code out[h] = sum of gradient[j] * matrix[h][j]}. */
    private static float[] transposedProduct(float[] gradient, float[] matrix) {
        float[] out = new float[HIDDEN];
        for (int h = 0; h < HIDDEN; h++) {
            for (int j = 0; j < HIDDEN; j++) {
                out[h] += gradient[j] * matrix[h * HIDDEN + j];
            }
        }
        return out;
    }

    private static float dot(float[] a, float[] b) {
        float sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    private static void addOuterProduct(float[] to, float weight, float[] x, float[] gradient) {
        for (int h = 0; h < HIDDEN; h++) {
            for (int j = 0; j < HIDDEN; j++) {
                to[h * HIDDEN + j] += weight * x[h] * gradient[j];
            }
        }
    }

    private static float[] row(float[] rows, int index) {
        return Arrays.copyOfRange(rows, index * HIDDEN, (index + 1) * HIDDEN);
    }

    private static void putScaled(float[] to, int index, float weight, float[] row) {
        for (int h = 0; h < HIDDEN; h++) {
            to[index * HIDDEN + h] = weight * row[h];
        }
    }

    /** Experts of one rank. They copy the offsets and weights of the dispatch, which are valid only until the next one. */
    private static final class Experts {
        private final EpDevice device;
        private final int[] experts;
        private final long[] offsets;
        private final int[] rows;
        private final float[] weights;
        private final float[] weightGradients;
        private final float[][] gradMatrices;

        Experts(EpBuffer buffer, DispatchResult forward) {
            device = buffer.group().device();
            experts = buffer.placement().expertsOf(buffer.group().rank());
            offsets = device.longs(forward.expertOffsets());
            rows = device.ints(forward.rowsPerExpert());
            weights = device.floats(forward.topkWeights().orElseThrow());
            weightGradients = new float[weights.length];
            gradMatrices = new float[experts.length][HIDDEN * HIDDEN];
            for (long offset : offsets) {
                assertThat(offset % ALIGNMENT).isZero();
            }
        }

        /** Weighted outputs, in the order of the rows. */
        float[] forward(Tensor saved) {
            float[] x = device.floats(saved);
            float[] y = new float[x.length];
            for (int local = 0; local < experts.length; local++) {
                float[] matrix = matrix(experts[local]);
                for (int row = first(local); row < first(local) + rows[local]; row++) {
                    putScaled(y, row, weights[row], product(row(x, row), matrix));
                }
            }
            return y;
        }

        /** Gradients of the rows; also sets the gradients of the weights, and adds to the gradients of the matrices. */
        float[] backward(Tensor saved, Tensor gradRows) {
            float[] x = device.floats(saved);
            float[] gradY = device.floats(gradRows);
            float[] gradX = new float[x.length];
            for (int local = 0; local < experts.length; local++) {
                float[] matrix = matrix(experts[local]);
                for (int row = first(local); row < first(local) + rows[local]; row++) {
                    float[] gradient = row(gradY, row);
                    putScaled(gradX, row, weights[row], transposedProduct(gradient, matrix));
                    weightGradients[row] = dot(product(row(x, row), matrix), gradient);
                    addOuterProduct(gradMatrices[local], weights[row], row(x, row), gradient);
                }
            }
            return gradX;
        }

        private int first(int local) {
            return Math.toIntExact(offsets[local]);
        }
    }

    /** Results of one rank, computed from the inputs of all ranks without any exchange. */
    private static final class Reference {
        private final float[] y = new float[TOKENS * HIDDEN];
        private final float[] gradX = new float[TOKENS * HIDDEN];
        private final float[] gradWeights = new float[TOKENS * TOP_K];
        private final float[][] gradMatrices = new float[EXPERTS][HIDDEN * HIDDEN];

        static Reference of(int rank) {
            Reference reference = new Reference();
            for (int source = 0; source < RANKS; source++) {
                reference.add(source, source == rank);
            }
            return reference;
        }

        /** Adds the tokens of a rank to the gradients of the matrices; sets outputs and gradients of tokens where they are this rank's. */
        private void add(int source, boolean mine) {
            float[] x = tokens(source);
            float[] gradY = gradients(source);
            int[] ids = ids(source);
            float[] weights = weights(source);
            for (int i = 0; i < ids.length; i++) {
                if (ids[i] < 0) {
                    continue;
                }
                float[] token = row(x, i / TOP_K);
                float[] gradient = row(gradY, i / TOP_K);
                float[] matrix = matrix(ids[i]);
                addOuterProduct(gradMatrices[ids[i]], weights[i], token, gradient);
                if (mine) {
                    addRounded(y, i / TOP_K, weights[i], product(token, matrix));
                    addRounded(gradX, i / TOP_K, weights[i], transposedProduct(gradient, matrix));
                    gradWeights[i] = dot(product(token, matrix), gradient);
                }
            }
            if (mine) {
                round(y);
                round(gradX);
            }
        }

        /** Rows travel as BF16, and are added in FP32. */
        private static void addRounded(float[] to, int index, float weight, float[] row) {
            for (int h = 0; h < HIDDEN; h++) {
                to[index * HIDDEN + h] += Numbers.bf16(weight * row[h]);
            }
        }

        private static void round(float[] sums) {
            for (int i = 0; i < sums.length; i++) {
                sums[i] = Numbers.bf16(sums[i]);
            }
        }
    }
}
