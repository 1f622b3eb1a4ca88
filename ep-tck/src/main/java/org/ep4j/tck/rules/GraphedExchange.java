package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.SlotTable;
import org.ep4j.tck.oracle.Verifier;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;

/**
 * A dispatch and a combine on fixed tensors, so that the two can be recorded once and replayed with other contents. Experts' outputs are
 * written before, to the rows that the oracle expects.
 */
abstract class GraphedExchange implements AutoCloseable {
    final EpBuffer buffer;
    final int rank;
    final Arena arena;
    final Verifier verifier;
    final Tensor x;
    final Tensor ids;
    final Tensor weights;
    Workload workload;
    Runnable comparison = () -> {
        throw new IllegalStateException("nothing was queued");
    };

    /** Creates an exchange for workloads with the sizes of {@code like}. */
    private GraphedExchange(RankContext context, EpBuffer buffer, Workload like) {
        this.buffer = buffer;
        this.rank = context.rank();
        this.arena = new Arena(buffer.group().device());
        this.verifier = new Verifier(arena);
        this.x = arena.allocate(DataType.BF16, like.tokens(rank), like.hidden());
        this.ids = arena.allocate(DataType.INT32, like.tokens(rank), like.topK());
        this.weights = arena.allocate(DataType.FP32, like.tokens(rank), like.topK());
        this.workload = like;
    }

    /** Loads another workload of the same sizes. */
    void load(Workload other) {
        workload = other;
        arena.fillShorts(x, (token, out) -> other.row(rank, token, out));
        arena.upload(ids, other.ids(rank));
        arena.upload(weights, other.weights(rank));
        loadOutputs(new Inputs(arena, other));
    }

    /** Writes the experts' outputs of {@link #workload}. */
    abstract void loadOutputs(Inputs inputs);

    /** Queues both operations without waiting. */
    abstract void queue(long dispatchStream, long combineStream);

    /** Compares the last results, which have arrived. */
    void verify() {
        comparison.run();
    }

    EpBuffer queued(long stream) {
        return buffer.withOptions(OpOptions.DEFAULT.asynchronous().onStream(stream));
    }

    CombineOracle oracle() {
        return new CombineOracle(workload, workload.randomOutputs(), Set.of());
    }

    @Override
    public void close() {
        arena.close();
    }

    static final class HighThroughput extends GraphedExchange {
        private final Tensor outputs;

        HighThroughput(RankContext context, EpBuffer buffer, Workload like, boolean zeroCopy) {
            super(context, buffer, like);
            long rows = buffer.maxRows(RowLayout.BY_RANK, 1);
            this.outputs = zeroCopy ? buffer.combineInput() : arena.allocate(DataType.BF16, rows, like.hidden());
            load(like);
        }

        private RowTable table() {
            return RowTable.of(workload, rank, RowLayout.BY_RANK, 1, Set.of());
        }

        @Override
        void loadOutputs(Inputs inputs) {
            inputs.outputs(outputs, table(), workload.randomOutputs());
        }

        DispatchRequest.Builder request() {
            return DispatchRequest.builder(x, ids).topkWeights(weights);
        }

        @Override
        void queue(long dispatchStream, long combineStream) {
            DispatchResult sent =
                    queued(dispatchStream).dispatch(request().worstCase().build());
            CombineResult back = queued(combineStream)
                    .combine(CombineRequest.builder(outputs, sent.handle()).build());
            comparison = () -> {
                verifier.dispatch(
                        sent, table(), new Verifier.DispatchOptions(DataType.BF16, DataType.INT32, true, false, false));
                verifier.combine(
                        back,
                        oracle(),
                        workload,
                        rank,
                        new Verifier.CombineOptions(RowLayout.BY_RANK, CombinePrecision.EXACT, 0, false));
            };
        }
    }

    static final class LowLatency extends GraphedExchange {
        private final WireFormat format;
        private final CombinePrecision precision;
        private final LowLatencyExchange.Weights where;
        private final boolean hook;
        private final Tensor outputs;

        LowLatency(RankContext context, EpBuffer buffer, Workload like, Params params) {
            super(context, buffer, like);
            this.format = params.one(WireFormat.class, "format", WireFormat.BF16);
            this.precision = params.one(CombinePrecision.class, "precision", CombinePrecision.EXACT);
            this.where = LowLatencyExchange.Weights.of(params, precision);
            this.hook = params.has("hook");
            // The buffer has two inputs in turn; this is the one of the next combine, which is the one that is
            // recorded.
            this.outputs = params.has("zerocopy")
                    ? buffer.nextLowLatencyCombineInput()
                    : arena.allocate(DataType.BF16, table().localExperts(), buffer.maxLowLatencyRows(), like.hidden());
            load(like);
        }

        private SlotTable table() {
            return SlotTable.of(workload, rank, Set.of());
        }

        @Override
        void loadOutputs(Inputs inputs) {
            inputs.outputs(outputs, table(), workload.randomOutputs());
        }

        @Override
        void queue(long dispatchStream, long combineStream) {
            LowLatencyDispatchResult sent = send(dispatchStream);
            receive(sent, sendBack(sent, combineStream));
        }

        /** Queues the dispatch; with the hook, its first half. */
        LowLatencyDispatchResult send(long stream) {
            LowLatencyDispatchRequest.Builder request =
                    LowLatencyDispatchRequest.builder(x, ids).format(format);
            if (hook) {
                request.receiveHook();
            }
            if (where.atDispatch()) {
                request.topkWeights(weights);
            }
            return queued(stream).lowLatencyDispatch(request.build());
        }

        /** Queues what is left of the dispatch, and the combine; with the hook, its first half. */
        CombineResult sendBack(LowLatencyDispatchResult sent, long stream) {
            LowLatencyCombineRequest.Builder request =
                    LowLatencyCombineRequest.builder(outputs, sent.handle()).precision(precision);
            if (hook) {
                sent.receive();
                request.receiveHook();
            }
            if (where.atCombine()) {
                request.topkWeights(weights);
            }
            return queued(stream).lowLatencyCombine(request.build());
        }

        /** Queues what is left of the combine. */
        void receive(LowLatencyDispatchResult sent, CombineResult back) {
            if (hook) {
                back.receive();
            }
            comparison = () -> {
                SlotTable table = table();
                verifier.dispatch(sent, table, format, table.capacity(buffer.shape()));
                verifier.combine(back, oracle(), workload, rank, precision);
            };
        }
    }
}
