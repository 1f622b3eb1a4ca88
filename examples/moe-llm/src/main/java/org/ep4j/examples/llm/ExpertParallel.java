package org.ep4j.examples.llm;

import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;

/**
 * The experts of a layer, spread over ranks: dispatch sends each token's row to the ranks of its experts, every rank computes
 * its own experts, combine brings their rows back and sums them. Rows travel as BF16. Sums are exact per selection and in
 * top-k order, so they do not depend on where the experts are. Calls are collective: every rank makes each of them, with no
 * tokens where it has none.
 */
final class ExpertParallel implements Experts {
    private final Weights<Matrix> weights;
    private final Compute compute;
    private final Spent spent;
    private final EpDevice device;
    private final EpBuffer buffer;
    private final int hidden;
    private final int topK;
    private final int experts;
    private final List<Inputs> inputs = new ArrayList<>();
    private final TensorArena arena;
    private Tensor products;

    /** Memory of this rank's device for what one batch passes to dispatch and combine. */
    private record Inputs(Tensor x, Tensor ids, Tensor shares) {}

    /** @param decodeTokens most tokens of a batch in a step of decode */
    ExpertParallel(EpGroup group, Weights<Matrix> weights, Compute compute, Spent spent, int decodeTokens) {
        ModelConfig config = weights.config();
        this.weights = weights;
        this.compute = compute;
        this.spent = spent;
        this.device = group.device();
        this.arena = device.arena();
        this.hidden = config.hidden();
        this.topK = config.topK();
        this.buffer = group.createBuffer(EpShape.builder(hidden, config.experts(), topK)
                .maxTokens(PREFILL_TOKENS)
                .maxLowLatencyTokens(decodeTokens)
                .build());
        this.experts = weights.layers().get(0).experts().size();
        for (int i = 0; i < 2; i++) {
            long tokens = Math.max(PREFILL_TOKENS, decodeTokens);
            inputs.add(new Inputs(
                    arena.tensor(DataType.BF16, tokens, hidden),
                    arena.tensor(DataType.INT32, tokens, topK),
                    arena.tensor(DataType.FP32, tokens, topK)));
        }
        this.products = arena.tensor(DataType.BF16, PREFILL_TOKENS, hidden);
    }

    @Override
    public Optional<EpBuffer> buffer() {
        return Optional.of(buffer);
    }

    @Override
    public float[] prefill(int layer, Routed batch) {
        Inputs in = write(0, batch);
        DispatchResult arrived = buffer.dispatch(DispatchRequest.builder(in.x(), in.ids())
                .topkWeights(in.shares())
                .layout(RowLayout.BY_EXPERT)
                .build());
        spent.on(Spent.Work.DISPATCH);
        Tensor results = multiply(layer, arrived);
        spent.on(Spent.Work.EXPERTS);
        CombineResult sums = buffer.combine(results, arrived.handle());
        float[] out = read(sums.out(), batch.tokens());
        arrived.handle().close();
        spent.on(Spent.Work.COMBINE);
        return out;
    }

    /** Rows of each expert, one group after the other, times the weight of their selection. */
    private Tensor multiply(int layer, DispatchResult arrived) {
        int rows = Math.toIntExact(arrived.rows());
        if (products.dim(0) < rows) {
            products = arena.tensor(DataType.BF16, 2L * rows, hidden);
        }
        Tensor results = products.rows(0, rows);
        IntBuffer source = ints(arrived.x());
        IntBuffer target = ints(results);
        var shares = bytes(arrived.topkWeights().orElseThrow()).asFloatBuffer();
        var offsets = bytes(arrived.expertOffsets()).asLongBuffer();
        for (int local = 0; local < experts; local++) {
            int first = (int) offsets.get(local);
            int count = (int) offsets.get(local + 1) - first;
            if (count > 0) {
                float[] y = expert(layer, local, source, first, count);
                for (int row = 0; row < count; row++) {
                    float share = shares.get(first + row);
                    for (int i = row * hidden; i < (row + 1) * hidden; i++) {
                        y[i] *= share;
                    }
                }
                Bf16.write(y, 0, count * hidden, target, first * (hidden / 2));
            }
        }
        return results;
    }

    private float[] expert(int layer, int local, IntBuffer source, int first, int count) {
        float[] x = new float[count * hidden];
        Bf16.read(source, first * (hidden / 2), count * hidden, x, 0);
        return Experts.apply(compute, weights.layers().get(layer).experts().get(local), x, count);
    }

    /**
     * Two batches in turn: while the rows of one travel, the other computes. Each half of an exchange is a call of its own:
     * with the hook, dispatch and combine return when they have sent, and {@code receive} waits for what the others send.
     */
    @Override
    public void decode(int layer, int batches, Next next, Done done) {
        List<Routed> routed = new ArrayList<>();
        List<LowLatencyDispatchResult> dispatched = new ArrayList<>();
        for (int i = 0; i < batches; i++) {
            Routed batch = next.batch(i);
            routed.add(batch);
            Inputs in = write(i, batch);
            dispatched.add(buffer.lowLatencyDispatch(LowLatencyDispatchRequest.builder(in.x(), in.ids())
                    .receiveHook()
                    .build()));
            spent.on(Spent.Work.DISPATCH);
        }
        List<CombineResult> combined = new ArrayList<>();
        for (int i = 0; i < batches; i++) {
            LowLatencyDispatchResult arrived = dispatched.get(i);
            arrived.receive();
            spent.on(Spent.Work.DISPATCH);
            Tensor results = multiply(layer, arrived);
            spent.on(Spent.Work.EXPERTS);
            combined.add(buffer.lowLatencyCombine(LowLatencyCombineRequest.builder(results, arrived.handle())
                    .topkWeights(inputs.get(i).shares().rows(0, routed.get(i).tokens()))
                    .receiveHook()
                    .build()));
            spent.on(Spent.Work.COMBINE);
        }
        for (int i = 0; i < batches; i++) {
            combined.get(i).receive();
            float[] sums = read(combined.get(i).out(), routed.get(i).tokens());
            dispatched.get(i).handle().close();
            spent.on(Spent.Work.COMBINE);
            done.batch(i, sums);
        }
    }

    /** Rows of each expert, at the start of its part of the tensor; results go where combine sends from without a copy. */
    private Tensor multiply(int layer, LowLatencyDispatchResult arrived) {
        Tensor results = buffer.nextLowLatencyCombineInput();
        IntBuffer source = ints(arrived.x());
        IntBuffer target = ints(results);
        IntBuffer counts = ints(arrived.rowsPerExpert());
        int stride = Math.toIntExact(arrived.x().dim(1));
        for (int local = 0; local < experts; local++) {
            int count = counts.get(local);
            if (count > 0) {
                float[] y = expert(layer, local, source, local * stride, count);
                Bf16.write(y, 0, count * hidden, target, local * stride * (hidden / 2));
            }
        }
        return results;
    }

    private Inputs write(int batch, Routed routed) {
        Inputs all = inputs.get(batch);
        int tokens = routed.tokens();
        Bf16.write(routed.x(), 0, tokens * hidden, ints(all.x()), 0);
        ints(all.ids()).put(0, routed.ids(), 0, tokens * topK);
        bytes(all.shares()).asFloatBuffer().put(0, routed.shares(), 0, tokens * topK);
        return new Inputs(
                all.x().rows(0, tokens), all.ids().rows(0, tokens), all.shares().rows(0, tokens));
    }

    private float[] read(Tensor rows, int tokens) {
        float[] values = new float[tokens * hidden];
        Bf16.read(ints(rows), 0, values.length, values, 0);
        return values;
    }

    private ByteBuffer bytes(Tensor tensor) {
        return device.view(tensor.memory());
    }

    private IntBuffer ints(Tensor tensor) {
        return bytes(tensor).asIntBuffer();
    }

    @Override
    public void close() {
        buffer.close();
        arena.close();
    }
}
