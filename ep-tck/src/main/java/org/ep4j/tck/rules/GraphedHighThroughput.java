package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.OpOptions;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.Verifier;
import org.ep4j.tck.oracle.Workload;
import org.jspecify.annotations.Nullable;

/**
 * A dispatch and a combine of high throughput on tensors that stay where they are, so that the two can be recorded once and
 * replayed with other contents. Experts' outputs are put in place before, as the oracle knows where.
 */
final class GraphedHighThroughput implements AutoCloseable {
    private final EpBuffer buffer;
    private final int rank;
    private final Arena arena;
    private final Verifier verifier;
    private final Tensor x;
    private final Tensor ids;
    private final Tensor weights;
    private final Tensor outputs;
    private Workload workload;
    private RowTable table;
    private @Nullable DispatchResult dispatched;
    private @Nullable CombineResult combined;

    /** @param like tells the sizes */
    GraphedHighThroughput(RankContext context, EpBuffer buffer, Workload like, boolean zeroCopy) {
        this.buffer = buffer;
        this.rank = context.rank();
        this.arena = new Arena(buffer.group().device());
        this.verifier = new Verifier(arena);
        this.x = arena.allocate(DataType.BF16, like.tokens(rank), like.hidden());
        this.ids = arena.allocate(DataType.INT32, like.tokens(rank), like.topK());
        this.weights = arena.allocate(DataType.FP32, like.tokens(rank), like.topK());
        long rows = buffer.shape().receiveCapacity(context.size());
        this.outputs = zeroCopy ? buffer.combineInput() : arena.allocate(DataType.BF16, rows, like.hidden());
        this.workload = like;
        this.table = RowTable.of(like, rank, RowLayout.BY_RANK, 1, Set.of());
        load(like);
    }

    /** Other contents, of the same sizes. */
    void load(Workload other) {
        workload = other;
        table = RowTable.of(other, rank, RowLayout.BY_RANK, 1, Set.of());
        arena.fillShorts(x, (token, out) -> other.row(rank, token, out));
        arena.upload(ids, other.ids(rank));
        arena.upload(weights, other.weights(rank));
        new Inputs(arena, other).outputs(outputs, table, other.randomOutputs());
    }

    DispatchRequest.Builder request(OpOptions options) {
        return DispatchRequest.of(x, ids).topkWeights(weights).options(options);
    }

    /** Queues both; waits for nothing. */
    void queue(long dispatchStream, long combineStream) {
        OpOptions async = OpOptions.DEFAULT.asynchronous();
        DispatchResult sent = buffer.dispatch(
                request(async.onStream(dispatchStream)).worstCase().build());
        dispatched = sent;
        combined = buffer.combine(CombineRequest.of(outputs, sent.handle())
                .options(async.onStream(combineStream))
                .build());
    }

    /** Compares what was delivered last, which is there. */
    void verify() {
        DispatchResult sent = dispatched;
        CombineResult back = combined;
        if (sent == null || back == null) {
            throw new IllegalStateException("nothing was queued");
        }
        verifier.dispatch(sent, table, new Verifier.Carried(DataType.BF16, DataType.INT32, true, false, false));
        verifier.combine(
                back,
                new CombineOracle(workload, workload.randomOutputs(), Set.of()),
                workload,
                rank,
                new Verifier.CombineWant(RowLayout.BY_RANK, CombinePrecision.EXACT, 0, false));
    }

    @Override
    public void close() {
        arena.close();
    }
}
