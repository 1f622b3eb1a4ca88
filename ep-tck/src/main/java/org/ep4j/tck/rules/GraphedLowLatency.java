package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.SlotTable;
import org.ep4j.tck.oracle.Verifier;
import org.ep4j.tck.oracle.Workload;
import org.jspecify.annotations.Nullable;

/** A dispatch and a combine of low latency, to be recorded once and replayed; see {@link GraphedHighThroughput}. */
final class GraphedLowLatency implements AutoCloseable {
    private final EpBuffer buffer;
    private final int rank;
    private final LowLatencyOptions options;
    private final Arena arena;
    private final Verifier verifier;
    private final Tensor x;
    private final Tensor ids;
    private final Tensor weights;
    private final Tensor outputs;
    private Workload workload;
    private SlotTable table;
    private @Nullable LowLatencyDispatchResult dispatched;
    private @Nullable LowLatencyCombineResult combined;

    /** @param like tells the sizes */
    GraphedLowLatency(RankContext context, EpBuffer buffer, Workload like, LowLatencyOptions options) {
        this.buffer = buffer;
        this.rank = context.rank();
        this.options = options;
        this.arena = new Arena(buffer.group().device());
        this.verifier = new Verifier(arena);
        this.x = arena.allocate(DataType.BF16, like.tokens(rank), like.hidden());
        this.ids = arena.allocate(DataType.INT32, like.tokens(rank), like.topK());
        this.weights = arena.allocate(DataType.FP32, like.tokens(rank), like.topK());
        this.workload = like;
        this.table = SlotTable.of(like, rank, Set.of());
        // Of the two in turn this is the one of the next combine, which is the one that is recorded.
        this.outputs = options.zeroCopy()
                ? buffer.lowLatencyCombineInput()
                : arena.allocate(
                        DataType.BF16,
                        table.localExperts(),
                        buffer.shape().lowLatencyRows(context.size()),
                        like.hidden());
        load(like);
    }

    /** Other contents, of the same sizes. */
    void load(Workload other) {
        workload = other;
        table = SlotTable.of(other, rank, Set.of());
        arena.fillShorts(x, (token, out) -> other.row(rank, token, out));
        arena.upload(ids, other.ids(rank));
        arena.upload(weights, other.weights(rank));
        new Inputs(arena, other).outputs(outputs, table, other.randomOutputs());
    }

    /** Queues both; waits for nothing. */
    void queue(long stream) {
        OpOptions how = OpOptions.DEFAULT.asynchronous().onStream(stream);
        LowLatencyDispatchRequest.Builder request =
                LowLatencyDispatchRequest.of(x, ids).format(options.format()).options(how);
        if (options.weightsAtDispatch()) {
            request.topkWeights(weights);
        }
        if (options.hook()) {
            request.hook();
        }
        LowLatencyDispatchResult sent = buffer.dispatch(request.build());
        if (options.hook()) {
            sent.receive();
        }
        LowLatencyCombineRequest.Builder back = LowLatencyCombineRequest.of(outputs, sent.handle())
                .precision(options.precision())
                .options(how);
        if (options.weightsAtCombine()) {
            back.topkWeights(weights);
        }
        if (options.hook()) {
            back.hook();
        }
        dispatched = sent;
        LowLatencyCombineResult added = buffer.combine(back.build());
        if (options.hook()) {
            added.receive();
        }
        combined = added;
    }

    /** Compares what was delivered last, which is there. */
    void verify() {
        LowLatencyDispatchResult sent = dispatched;
        LowLatencyCombineResult back = combined;
        if (sent == null || back == null) {
            throw new IllegalStateException("nothing was queued");
        }
        verifier.dispatch(sent, table, options.format(), buffer.shape().lowLatencyRows(workload.ranks()));
        verifier.combine(
                back,
                new CombineOracle(workload, workload.randomOutputs(), Set.of()),
                workload,
                rank,
                options.precision());
    }

    @Override
    public void close() {
        arena.close();
    }
}
