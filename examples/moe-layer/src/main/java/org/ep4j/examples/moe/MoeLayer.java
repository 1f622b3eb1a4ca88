package org.ep4j.examples.moe;

import java.util.Arrays;
import java.util.Optional;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.OpOptions;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuStream;

/** One rank of the layer. Its calls are collective. */
final class MoeLayer implements AutoCloseable {
    private final Weights weights;
    private final EpGroup group;
    private final EpBuffer buffer;
    private final Optional<GpuStream> stream;
    private final Experts experts;

    /** @param mostTokens that a rank passes to {@link #forward} */
    MoeLayer(EpGroup group, Weights weights, int mostTokens) {
        this.weights = weights;
        this.group = group;
        this.buffer = group.createBuffer(EpShape.builder(weights.hidden(), weights.experts(), weights.topK())
                .maxTokens(mostTokens)
                .build());
        if (group.device() instanceof GpuDevice gpu) {
            GpuStream own = gpu.createStream();
            stream = Optional.of(own);
            experts = new GpuExperts(weights, buffer, gpu, own.handle());
        } else {
            stream = Optional.empty();
            experts = new HostExperts(weights, buffer);
        }
    }

    /**
     * Passes this rank's tokens through the experts of all ranks.
     *
     * @param tokens {@code [T][H]} BF16
     * @return {@code [T][H]} BF16
     */
    short[][] forward(short[][] tokens, CombinePrecision precision) {
        int hidden = weights.hidden();
        int topK = weights.topK();
        try (Memory memory = new Memory(group.device())) {
            short[] x = new short[tokens.length * hidden];
            int[] ids = new int[tokens.length * topK];
            float[] shares = new float[tokens.length * topK];
            for (int t = 0; t < tokens.length; t++) {
                System.arraycopy(tokens[t], 0, x, t * hidden, hidden);
                int[] chosen = weights.choose(tokens[t]);
                System.arraycopy(chosen, 0, ids, t * topK, topK);
                System.arraycopy(weights.shares(tokens[t], chosen), 0, shares, t * topK, topK);
            }
            DispatchResult arrived = buffer.dispatch(dispatch(
                    memory.shorts(x, tokens.length, hidden),
                    memory.ints(ids, tokens.length, topK),
                    memory.floats(shares, tokens.length, topK)));
            CombineResult summed = buffer.combine(CombineRequest.of(experts.apply(arrived), arrived.handle())
                    .precision(precision)
                    .options(options())
                    .build());
            short[] out = memory.readShorts(result(summed));
            short[][] rows = new short[tokens.length][];
            Arrays.setAll(rows, t -> Arrays.copyOfRange(out, t * hidden, (t + 1) * hidden));
            return rows;
        }
    }

    private DispatchRequest dispatch(Tensor x, Tensor ids, Tensor shares) {
        DispatchRequest.Builder request = DispatchRequest.of(x, ids)
                .topkWeights(shares)
                .layout(RowLayout.BY_EXPERT)
                .options(options());
        // On a GPU dispatch, experts and combine are queued one behind the other, and the host waits for the last.
        return (stream.isPresent() ? request.worstCase() : request).build();
    }

    private OpOptions options() {
        return stream.map(own -> OpOptions.DEFAULT.onStream(own.handle()).asynchronous())
                .orElse(OpOptions.DEFAULT);
    }

    private static Tensor result(CombineResult summed) {
        summed.event().await(java.time.Duration.ofMinutes(1));
        return summed.out();
    }

    @Override
    public void close() {
        buffer.close();
        experts.close();
        stream.ifPresent(GpuStream::close);
    }
}
