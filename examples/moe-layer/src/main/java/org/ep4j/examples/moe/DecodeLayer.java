package org.ep4j.examples.moe;

import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import org.ep4j.EpBuffer;
import org.ep4j.EpEvent;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuStream;

/**
 * One rank of the layer while decoding: two batches in turn, so that the rows of one are on their way while experts compute the other.
 * Sending and receiving only queue their work, on a GPU behind each other on one stream; the host waits once, at the end. Calls are
 * collective.
 */
final class DecodeLayer implements AutoCloseable {
    private static final Duration LONGEST = Duration.ofMinutes(1);

    private final Weights weights;
    private final EpGroup group;
    private final EpBuffer buffer;
    private final Optional<GpuStream> stream;
    private final Experts experts;

    /** @param mostTokens of a batch */
    DecodeLayer(EpGroup group, Weights weights, int mostTokens) {
        this.weights = weights;
        this.group = group;
        this.buffer = group.createBuffer(EpShape.builder(weights.hidden(), weights.experts(), weights.topK())
                .maxLowLatencyTokens(mostTokens)
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

    /** Tokens of this rank that pass the layer together. */
    private final class Batch {
        private final int tokens;
        private final Tensor x;
        private final Tensor ids;
        private final Tensor shares;

        private Batch(Memory memory, short[][] rows) {
            int hidden = weights.hidden();
            int topK = weights.topK();
            tokens = rows.length;
            short[] values = new short[tokens * hidden];
            int[] chosen = new int[tokens * topK];
            float[] parts = new float[tokens * topK];
            for (int t = 0; t < tokens; t++) {
                System.arraycopy(rows[t], 0, values, t * hidden, hidden);
                int[] best = weights.choose(rows[t]);
                System.arraycopy(best, 0, chosen, t * topK, topK);
                System.arraycopy(weights.shares(rows[t], best), 0, parts, t * topK, topK);
            }
            x = memory.shorts(values, tokens, hidden);
            ids = memory.ints(chosen, tokens, topK);
            shares = memory.floats(parts, tokens, topK);
        }

        private LowLatencyDispatchResult send() {
            return buffer.dispatch(LowLatencyDispatchRequest.of(x, ids)
                    .hook()
                    .options(options())
                    .build());
        }

        private LowLatencyCombineResult sendBack(Tensor outputs, LowLatencyDispatchResult arrived) {
            return buffer.combine(LowLatencyCombineRequest.of(outputs, arrived.handle())
                    .topkWeights(shares)
                    .hook()
                    .options(options())
                    .build());
        }

        private short[][] read(Memory memory, LowLatencyCombineResult added) {
            int hidden = weights.hidden();
            short[] out = memory.readShorts(added.out());
            short[][] rows = new short[tokens][];
            Arrays.setAll(rows, t -> Arrays.copyOfRange(out, t * hidden, (t + 1) * hidden));
            return rows;
        }
    }

    /**
     * Passes two batches of this rank's tokens through the experts of all ranks.
     *
     * @param rows {@code [2][T][H]} BF16
     * @return {@code [2][T][H]} BF16
     */
    short[][][] forward(short[][][] rows) {
        try (Memory memory = new Memory(group.device())) {
            Batch first = new Batch(memory, rows[0]);
            Batch second = new Batch(memory, rows[1]);
            LowLatencyDispatchResult firstRows = first.send();
            firstRows.receive();
            LowLatencyDispatchResult secondRows = second.send();
            // While this computes, the rows of the second batch arrive.
            Tensor firstOutputs = experts.apply(firstRows, buffer.lowLatencyCombineInput());
            secondRows.receive();
            LowLatencyCombineResult firstBack = first.sendBack(firstOutputs, firstRows);
            // While this computes, the outputs of the first batch go back.
            Tensor secondOutputs = experts.apply(secondRows, buffer.lowLatencyCombineInput());
            firstBack.receive();
            LowLatencyCombineResult secondBack = second.sendBack(secondOutputs, secondRows);
            EpEvent end = secondBack.receive();
            firstBack.event().await(LONGEST);
            end.await(LONGEST);
            return new short[][][] {first.read(memory, firstBack), second.read(memory, secondBack)};
        }
    }

    private OpOptions options() {
        OpOptions queued = OpOptions.DEFAULT.asynchronous();
        return stream.map(own -> queued.onStream(own.handle())).orElse(queued);
    }

    @Override
    public void close() {
        buffer.close();
        experts.close();
        stream.ifPresent(GpuStream::close);
    }
}
