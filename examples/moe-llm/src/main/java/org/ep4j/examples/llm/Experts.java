package org.ep4j.examples.llm;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.ep4j.EpBuffer;

/** The experts of all layers, wherever they are. */
interface Experts extends AutoCloseable {
    /** Most tokens that a rank passes to a step of prefill. */
    int PREFILL_TOKENS = 256;

    /** Experts of a layer for one batch, in a step with many tokens. */
    float[] prefill(int layer, Routed batch);

    /**
     * Experts of a layer for up to two batches, in a step with a token for each sequence.
     *
     * @param next gives the tokens of batch 0, then of batch 1: attention and router
     * @param done takes the sums of batch 0, then of batch 1
     */
    void decode(int layer, int batches, Next next, Done done);

    /** Gives a batch. */
    interface Next {
        Routed batch(int index);
    }

    /** Takes the weighted sum of the experts' rows, {@code [tokens][hidden]}. */
    interface Done {
        void batch(int index, float[] sums);
    }

    /** The buffer over which exchanges run, where there are any. */
    Optional<EpBuffer> buffer();

    @Override
    void close();

    /** {@code down(silu(gate(x)) * up(x))} of {@code count} rows. */
    static float[] apply(Compute compute, Weights.Expert<Matrix> expert, float[] x, int count) {
        Compute.Tokens tokens = Compute.Tokens.of(x, count, expert.gate().columns());
        float[] gate = compute.multiply(expert.gate(), tokens);
        float[] up = compute.multiply(expert.up(), tokens);
        for (int i = 0; i < gate.length; i++) {
            gate[i] = gate[i] / (1 + (float) Math.exp(-gate[i])) * up[i];
        }
        return compute.multiply(expert.down(), gate, count);
    }

    /** All experts on one rank, without an exchange: rows stay FP32. */
    record Alone(Weights<Matrix> weights, Compute compute, Spent spent) implements Experts {
        @Override
        public float[] prefill(int layer, Routed batch) {
            int hidden = weights.config().hidden();
            int topK = weights.config().topK();
            float[][] rows = new float[batch.tokens() * topK][];
            List<Weights.Expert<Matrix>> experts = weights.layers().get(layer).experts();
            for (int e = 0; e < experts.size(); e++) {
                int id = e;
                int[] chosen = IntStream.range(0, rows.length)
                        .filter(i -> batch.ids()[i] == id)
                        .toArray();
                float[] x = new float[chosen.length * hidden];
                for (int i = 0; i < chosen.length; i++) {
                    System.arraycopy(batch.x(), chosen[i] / topK * hidden, x, i * hidden, hidden);
                }
                float[] y = chosen.length == 0 ? x : apply(compute, experts.get(e), x, chosen.length);
                for (int i = 0; i < chosen.length; i++) {
                    rows[chosen[i]] = Arrays.copyOfRange(y, i * hidden, (i + 1) * hidden);
                }
            }
            float[] sums = new float[batch.tokens() * hidden];
            for (int i = 0; i < rows.length; i++) {
                for (int h = 0, at = i / topK * hidden; h < hidden; h++, at++) {
                    sums[at] = Math.fma(batch.shares()[i], rows[i][h], sums[at]);
                }
            }
            spent.on(Spent.Work.EXPERTS);
            return sums;
        }

        @Override
        public void decode(int layer, int batches, Next next, Done done) {
            for (int i = 0; i < batches; i++) {
                done.batch(i, prefill(layer, next.batch(i)));
            }
        }

        @Override
        public Optional<EpBuffer> buffer() {
            return Optional.empty();
        }

        @Override
        public void close() {}
    }
}
