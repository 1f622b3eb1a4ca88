package org.ep4j.examples.llm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.ep4j.EpBuffer;

/**
 * The model's layers on the host, in FP32 with BF16 weights. A layer is
 *
 * <pre>
 * x += o(attention(q, k, v of norm(x)))
 * x += experts(norm(x))
 * </pre>
 */
final class HostModel implements Model {
    private final Weights<Matrix> weights;
    private final List<Norms> norms;
    private final ModelConfig config;
    private final float[] lastNorm;
    private final Experts experts;
    private final Compute compute;
    private final Spent spent;
    private final float[] frequencies;
    private final Map<Integer, Cache> caches = new HashMap<>();

    /** Weights of a layer's norms. */
    @SuppressWarnings("ArrayRecordComponent") // not compared, and not copied: these are large
    private record Norms(float[] input, float[] q, float[] k, float[] experts) {}

    /** {@code [layer][position][kvHeads][headDim]} of a sequence, keys turned by their position. */
    @SuppressWarnings("ArrayRecordComponent") // not compared, and not copied: these are large
    private record Cache(float[][] keys, float[][] values) {}

    HostModel(Weights<Matrix> weights, Experts experts, Compute compute, Spent spent) {
        this.weights = weights;
        this.lastNorm = weights.norm().vector();
        this.norms = weights.layers().stream()
                .map(layer -> new Norms(
                        layer.inputNorm().vector(),
                        layer.qNorm().vector(),
                        layer.kNorm().vector(),
                        layer.expertNorm().vector()))
                .toList();
        this.config = weights.config();
        this.experts = experts;
        this.compute = compute;
        this.spent = spent;
        this.frequencies = new float[config.headDim() / 2];
        for (int i = 0; i < frequencies.length; i++) {
            frequencies[i] = (float) Math.pow(config.ropeTheta(), -2.0 * i / config.headDim());
        }
    }

    @Override
    public List<float[]> prefill(List<Slice> slices) {
        Batch batch = new Batch(slices);
        for (int layer = 0; layer < config.layers(); layer++) {
            batch.add(experts.prefill(layer, batch.route(layer)));
        }
        return batch.logits();
    }

    @Override
    public List<float[]> decode(List<List<Slice>> batches) {
        List<Batch> all = batches.stream().map(Batch::new).toList();
        for (int layer = 0; layer < config.layers(); layer++) {
            int current = layer;
            experts.decode(
                    layer,
                    all.size(),
                    i -> all.get(i).route(current),
                    (i, sums) -> all.get(i).add(sums));
        }
        List<float[]> logits = new ArrayList<>();
        all.forEach(batch -> logits.addAll(batch.logits()));
        return logits;
    }

    @Override
    public Optional<EpBuffer> buffer() {
        return experts.buffer();
    }

    @Override
    public void keepProducts() {
        compute.record();
    }

    @Override
    public boolean runProducts() {
        return compute.replay();
    }

    @Override
    public void close() {
        experts.close();
        compute.close();
    }

    /** The rows of some tokens on their way through the layers. */
    private final class Batch {
        private final List<Slice> slices;
        private final int tokens;
        private final float[] x;

        Batch(List<Slice> slices) {
            this.slices = slices;
            this.tokens = slices.stream().mapToInt(Slice::count).sum();
            this.x = new float[tokens * config.hidden()];
            int row = 0;
            for (Slice slice : slices) {
                for (int p = slice.position(); p < slice.end(); p++) {
                    weights.embedding().row(slice.sequence().token(p), x, row++ * config.hidden());
                }
            }
        }

        void add(float[] rows) {
            for (int i = 0; i < x.length; i++) {
                x[i] += rows[i];
            }
        }

        /** Attention, then the router's choice. */
        Routed route(int index) {
            Weights.Layer<Matrix> layer = weights.layers().get(index);
            add(compute.multiply(layer.o(), attend(index, layer), tokens));
            spent.on(Spent.Work.ATTENTION);
            float[] normed = norm(x, tokens, norms.get(index).experts());
            Routed routed = Router.route(config, compute, layer.router(), normed, tokens);
            spent.on(Spent.Work.ROUTER);
            return routed;
        }

        private float[] attend(int index, Weights.Layer<Matrix> layer) {
            int headDim = config.headDim();
            Compute.Tokens normed =
                    Compute.Tokens.of(norm(x, tokens, norms.get(index).input()), tokens, config.hidden());
            float[] q = norm(
                    compute.multiply(layer.q(), normed),
                    tokens * config.heads(),
                    norms.get(index).q());
            float[] k = norm(
                    compute.multiply(layer.k(), normed),
                    tokens * config.kvHeads(),
                    norms.get(index).k());
            float[] v = compute.multiply(layer.v(), normed);
            float[] out = new float[q.length];
            int keys = config.kvHeads() * headDim;
            int row = 0;
            for (Slice slice : slices) {
                Cache cache = cache(slice.sequence());
                int first = row;
                for (int p = slice.position(); p < slice.end(); p++, row++) {
                    turn(q, row * config.heads() * headDim, config.heads(), p);
                    turn(k, row * keys, config.kvHeads(), p);
                    System.arraycopy(k, row * keys, cache.keys()[index], p * keys, keys);
                    System.arraycopy(v, row * keys, cache.values()[index], p * keys, keys);
                }
                long work = 2L * slice.count() * slice.end() * config.heads() * headDim;
                compute.split(slice.count() * config.heads(), work, (from, to) -> {
                    float[] scores = new float[slice.end()];
                    for (int i = from; i < to; i++) {
                        int token = i / config.heads();
                        int at = ((first + token) * config.heads() + i % config.heads()) * headDim;
                        int kv = i % config.heads() / (config.heads() / config.kvHeads());
                        head(q, at, cache, index, kv, slice.position() + token + 1, scores, out);
                    }
                });
            }
            return out;
        }

        List<float[]> logits() {
            float[] last = new float[slices.size() * config.hidden()];
            int count = 0;
            int row = -1;
            for (Slice slice : slices) {
                row += slice.count();
                if (slice.choosesNext()) {
                    System.arraycopy(x, row * config.hidden(), last, count++ * config.hidden(), config.hidden());
                }
            }
            float[] all = compute.multiply(weights.head(), norm(last, count, lastNorm), count);
            int size = config.vocabulary();
            List<float[]> logits = IntStream.range(0, count)
                    .mapToObj(i -> Arrays.copyOfRange(all, i * size, (i + 1) * size))
                    .toList();
            spent.on(Spent.Work.HEAD);
            return logits;
        }
    }

    private Cache cache(Sequence sequence) {
        int size = sequence.longest() * config.kvHeads() * config.headDim();
        return caches.computeIfAbsent(
                sequence.index(), i -> new Cache(new float[config.layers()][size], new float[config.layers()][size]));
    }

    /** One head of one token: softmax over the {@code length} tokens up to it. */
    private void head(float[] q, int at, Cache cache, int layer, int kv, int length, float[] scores, float[] out) {
        int headDim = config.headDim();
        int stride = config.kvHeads() * headDim;
        float[] keys = cache.keys()[layer];
        float[] values = cache.values()[layer];
        float scale = (float) (1 / Math.sqrt(headDim));
        float highest = Float.NEGATIVE_INFINITY;
        for (int p = 0; p < length; p++) {
            scores[p] = scale * compute.product().dot(q, at, keys, p * stride + kv * headDim, headDim);
            highest = Math.max(highest, scores[p]);
        }
        float total = 0;
        for (int p = 0; p < length; p++) {
            scores[p] = (float) Math.exp(scores[p] - highest);
            total += scores[p];
        }
        for (int p = 0; p < length; p++) {
            compute.product().add(scores[p] / total, values, p * stride + kv * headDim, out, at, headDim);
        }
    }

    /** Rotary embedding: element i and element i + headDim / 2 of each head are turned together. */
    private void turn(float[] rows, int start, int heads, int position) {
        int half = frequencies.length;
        for (int i = 0; i < half; i++) {
            float angle = frequencies[i] * position;
            float cos = (float) Math.cos(angle);
            float sin = (float) Math.sin(angle);
            for (int head = 0, at = start + i; head < heads; head++, at += 2 * half) {
                float first = rows[at];
                float second = rows[at + half];
                rows[at] = first * cos - second * sin;
                rows[at + half] = second * cos + first * sin;
            }
        }
    }

    /** RMSNorm of rows as long as the weights. */
    private float[] norm(float[] rows, int count, float[] norm) {
        int size = norm.length;
        float[] out = new float[rows.length];
        for (int row = 0, start = 0; row < count; row++, start += size) {
            float squares = 0;
            for (int i = start; i < start + size; i++) {
                squares = Math.fma(rows[i], rows[i], squares);
            }
            float factor = (float) (1 / Math.sqrt(squares / size + config.epsilon()));
            for (int i = 0; i < size; i++) {
                out[start + i] = rows[start + i] * factor * norm[i];
            }
        }
        return out;
    }
}
