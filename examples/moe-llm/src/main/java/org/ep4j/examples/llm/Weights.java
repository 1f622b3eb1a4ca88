package org.ep4j.examples.llm;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;

/**
 * What one rank holds of a model: everything but the experts of other ranks.
 *
 * @param <T> a tensor where it is computed with: in the heap, or on a GPU
 * @param config its shape
 * @param embedding {@code [vocabulary][hidden]}
 * @param layers its layers
 * @param norm weights of the last RMSNorm
 * @param head {@code [vocabulary][hidden]}, from which logits come
 */
record Weights<T>(ModelConfig config, T embedding, List<Layer<T>> layers, T norm, T head) {
    /**
     * One layer.
     *
     * @param inputNorm RMSNorm before attention
     * @param q {@code [heads * headDim][hidden]}
     * @param k {@code [kvHeads * headDim][hidden]}
     * @param v {@code [kvHeads * headDim][hidden]}
     * @param o {@code [hidden][heads * headDim]}
     * @param qNorm RMSNorm of each head of q
     * @param kNorm RMSNorm of each head of k
     * @param expertNorm RMSNorm before router and experts
     * @param router {@code [experts][hidden]}
     * @param experts this rank's, in the order of their numbers
     * @param <T> as above
     */
    record Layer<T>(
            T inputNorm, T q, T k, T v, T o, T qNorm, T kNorm, T expertNorm, T router, List<Expert<T>> experts) {}

    /**
     * One expert: {@code down(silu(gate(x)) * up(x))}.
     *
     * @param gate {@code [expertHidden][hidden]}
     * @param up {@code [expertHidden][hidden]}
     * @param down {@code [hidden][expertHidden]}
     * @param <T> as above
     */
    record Expert<T>(T gate, T up, T down) {}

    /**
     * Where tensors come from.
     *
     * @param <T> as above
     */
    interface Source<T> {
        /** A matrix, or a vector as a matrix of one row. */
        T tensor(String name, int rows, int columns);
    }

    /**
     * Checks that every tensor of the model is there, and reads none.
     *
     * @throws ModelException naming the first that is missing or of another shape
     */
    static void check(Path folder, ModelConfig config) {
        try (Safetensors files = Safetensors.open(folder)) {
            Weights.<Boolean>build(config, expert -> true, layer -> {}, (name, rows, columns) -> {
                files.require(name, rows, columns);
                return true;
            });
        }
    }

    /**
     * Takes what this rank needs.
     *
     * @param mine whether an expert is this rank's
     * @param loaded takes the number of layers that have been read
     */
    static <T> Weights<T> build(ModelConfig config, IntPredicate mine, IntConsumer loaded, Source<T> source) {
        int hidden = config.hidden();
        int queries = config.heads() * config.headDim();
        int keys = config.kvHeads() * config.headDim();
        T embedding = source.tensor("model.embed_tokens.weight", config.vocabulary(), hidden);
        List<Layer<T>> layers = new ArrayList<>();
        for (int i = 0; i < config.layers(); i++) {
            String layer = "model.layers." + i + ".";
            String attention = layer + "self_attn.";
            List<Expert<T>> experts = new ArrayList<>();
            for (int e = 0; e < config.experts(); e++) {
                if (mine.test(e)) {
                    String expert = layer + "mlp.experts." + e + ".";
                    experts.add(new Expert<>(
                            source.tensor(expert + "gate_proj.weight", config.expertHidden(), hidden),
                            source.tensor(expert + "up_proj.weight", config.expertHidden(), hidden),
                            source.tensor(expert + "down_proj.weight", hidden, config.expertHidden())));
                }
            }
            layers.add(new Layer<>(
                    source.tensor(layer + "input_layernorm.weight", 1, hidden),
                    source.tensor(attention + "q_proj.weight", queries, hidden),
                    source.tensor(attention + "k_proj.weight", keys, hidden),
                    source.tensor(attention + "v_proj.weight", keys, hidden),
                    source.tensor(attention + "o_proj.weight", hidden, queries),
                    source.tensor(attention + "q_norm.weight", 1, config.headDim()),
                    source.tensor(attention + "k_norm.weight", 1, config.headDim()),
                    source.tensor(layer + "post_attention_layernorm.weight", 1, hidden),
                    source.tensor(layer + "mlp.gate.weight", config.experts(), hidden),
                    experts));
            loaded.accept(i + 1);
        }
        T norm = source.tensor("model.norm.weight", 1, hidden);
        T head = config.tiedEmbeddings() ? embedding : source.tensor("lm_head.weight", config.vocabulary(), hidden);
        return new Weights<>(config, embedding, layers, norm, head);
    }

    /** Bytes of heap that one rank's weights take. */
    static long bytes(ModelConfig config, int experts) {
        long hidden = config.hidden();
        long attention = (2L * config.heads() + 2L * config.kvHeads()) * config.headDim() * hidden;
        long layer = attention + config.experts() * hidden + 3L * experts * config.expertHidden() * hidden;
        long vocabulary = (config.tiedEmbeddings() ? 1L : 2L) * config.vocabulary() * hidden;
        return 2 * (config.layers() * layer + vocabulary);
    }
}
