package org.ep4j.examples.moe;

import java.time.Duration;
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
import org.ep4j.TensorArena;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuStream;

/** One rank of the layer. Its calls are collective. */
final class MoeLayer implements AutoCloseable {
    private static final Duration LONGEST = Duration.ofMinutes(1);

    private final Weights weights;
    private final EpGroup group;
    private final EpBuffer buffer;
    private final Optional<GpuStream> stream;
    private final Experts experts;

    /** @param mostTokens that a rank passes to {@link #forward} */
    MoeLayer(EpGroup group, Weights weights, int mostTokens) {
        this.weights = weights;
        this.group = group;
        EpBuffer created = group.createBuffer(EpShape.builder(weights.hidden(), weights.experts(), weights.topK())
                .maxTokens(mostTokens)
                .build());
        if (GpuDevice.isGpu(group.device())) {
            GpuDevice gpu = GpuDevice.of(group.device());
            GpuStream own = gpu.createStream();
            stream = Optional.of(own);
            // On a GPU dispatch, experts and combine are queued one behind the other, and the host waits for the last.
            buffer =
                    created.withOptions(OpOptions.DEFAULT.onStream(own.handle()).asynchronous());
            experts = new GpuExperts(weights, buffer, gpu, own);
        } else {
            stream = Optional.empty();
            buffer = created;
            experts = new HostExperts(weights, buffer);
        }
    }

    /**
     * Passes this rank's tokens through the experts of all ranks.
     *
     * @param tokens {@code [T][H]} BF16
     * @return {@code [T][H]} BF16
     */
    float[][] forward(float[][] tokens, CombinePrecision precision) {
        int hidden = weights.hidden();
        int topK = weights.topK();
        // Closed after success only: a call that failed may have left kernels queued, which still use the memory.
        TensorArena arena = group.device().arena();
        float[] x = new float[tokens.length * hidden];
        int[] ids = new int[tokens.length * topK];
        float[] shares = new float[tokens.length * topK];
        for (int t = 0; t < tokens.length; t++) {
            System.arraycopy(tokens[t], 0, x, t * hidden, hidden);
            int[] chosen = weights.choose(tokens[t]);
            System.arraycopy(chosen, 0, ids, t * topK, topK);
            System.arraycopy(weights.shares(tokens[t], chosen), 0, shares, t * topK, topK);
        }
        DispatchResult arrived = buffer.dispatch(dispatch(
                arena.bf16(x, tokens.length, hidden),
                arena.int32(ids, tokens.length, topK),
                arena.fp32(shares, tokens.length, topK)));
        CombineResult summed = buffer.combine(CombineRequest.builder(experts.apply(arrived), arrived.handle())
                .precision(precision)
                .build());
        float[] out = group.device().floats(result(summed));
        float[][] rows = new float[tokens.length][];
        Arrays.setAll(rows, t -> Arrays.copyOfRange(out, t * hidden, (t + 1) * hidden));
        arena.close();
        return rows;
    }

    private DispatchRequest dispatch(Tensor x, Tensor ids, Tensor shares) {
        DispatchRequest.Builder request =
                DispatchRequest.builder(x, ids).topkWeights(shares).layout(RowLayout.BY_EXPERT);
        // With exact counts the host would have to wait for them.
        return (stream.isPresent() ? request.worstCase() : request).build();
    }

    private static Tensor result(CombineResult summed) {
        summed.event().await(LONGEST);
        return summed.out();
    }

    @Override
    public void close() {
        buffer.close();
        experts.close();
        stream.ifPresent(GpuStream::close);
    }
}
