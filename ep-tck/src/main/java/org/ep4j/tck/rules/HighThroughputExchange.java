package org.ep4j.tck.rules;

import java.util.Optional;
import java.util.Set;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchOutputs;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.OpOptions;
import org.ep4j.OverflowPolicy;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.ScaleTensor;
import org.ep4j.tck.oracle.Verifier;
import org.ep4j.tck.oracle.Workload;

/** One high-throughput exchange of one rank, every result compared with the oracle. */
final class HighThroughputExchange implements AutoCloseable {
    private final EpBuffer buffer;
    private final int rank;
    private final Workload workload;

    /** What of it arrives: all, unless ranks drop rows. */
    private final Workload arriving;

    private final HighThroughputOptions options;
    private final Set<Integer> masked;
    private final Arena arena;
    private final Inputs inputs;
    private final Verifier verifier;
    private final RowTable table;

    HighThroughputExchange(
            RankContext context,
            EpBuffer buffer,
            Workload workload,
            HighThroughputOptions options,
            Set<Integer> masked) {
        this.buffer = buffer;
        this.rank = context.rank();
        this.workload = workload;
        this.options = options;
        this.masked = masked;
        this.arena = new Arena(buffer.group().device());
        this.inputs = new Inputs(arena, workload);
        this.verifier = new Verifier(arena);
        this.arriving = arriving(workload);
        this.table = RowTable.of(arriving, rank, options.layout(), options.alignment(), masked);
    }

    private Workload arriving(Workload sent) {
        return options.overflow() == OverflowPolicy.DROP
                ? sent.upTo(buffer.shape().receiveCapacity(sent.ranks()))
                : sent;
    }

    /** A whole round: dispatch, the cached dispatch where asked for, and combine, everything compared. */
    void round() {
        DispatchResult result = dispatch();
        verifier.dispatch(result, table, options.carried());
        Checks.equal("droppedRows()", result.droppedRows(), workload.rowsFor(rank) - arriving.rowsFor(rank));
        if (options.cached()) {
            cachedDispatch(result.handle());
        }
        combine(result.handle());
    }

    DispatchResult dispatch() {
        Tensor ids = inputs.ids(rank, options.idType());
        Tensor x = options.fp8() ? inputs.fp8Rows(rank, options.rows()) : inputs.rows(rank);
        LateInputs late = new LateInputs(arena, options.after(), ids, x);
        DispatchRequest.Builder request = DispatchRequest.of(x, ids)
                .layout(options.layout())
                .overflow(options.overflow())
                .expertAlignment(options.alignment())
                .options(opOptions(late));
        addSizing(request);
        if (options.fp8()) {
            addScales(request, inputs);
        }
        if (options.weights()) {
            request.topkWeights(inputs.weights(rank));
        }
        return start(request, options.weights());
    }

    private void addScales(DispatchRequest.Builder request, Inputs from) {
        request.scales(options.scaleType() == DataType.UE8M0 ? from.ue8m0Scales(rank) : from.fp8Scales(rank))
                .scaleLayout(options.scaleLayout());
    }

    private void addSizing(DispatchRequest.Builder request) {
        if (options.zeroPadding()) {
            request.zeroPadding();
        }
        if (!options.exactCounts()) {
            request.worstCase();
        }
    }

    private DispatchResult start(DispatchRequest.Builder request, boolean weighted) {
        if (!options.out()) {
            return settled(buffer.dispatch(request.build()));
        }
        long rows = options.exactCounts() ? table.rows() + 3L : worstRows();
        Tensor out = arena.allocate(options.rows(), rows, workload.hidden());
        DispatchOutputs outputs = outputs(weighted);
        DispatchResult result =
                settled(buffer.dispatch(request.out(out).outputs(outputs).build()));
        Checks.equal("address of x where out was given", result.x().address(), out.address());
        isAt("scales", result.scales(), outputs.scales());
        isAt("topkIds", result.topkIds(), outputs.topkIds());
        isAt("topkWeights", result.topkWeights(), outputs.topkWeights());
        isAt("sourceRanks", Optional.of(result.sourceRanks()), outputs.sourceRanks());
        isAt("sourceTokens", Optional.of(result.sourceTokens()), outputs.sourceTokens());
        isAt("rowsPerSource", Optional.of(result.rowsPerSource()), outputs.rowsPerSource());
        isAt("rowsPerExpert", Optional.of(result.rowsPerExpert()), outputs.rowsPerExpert());
        isAt("expertOffsets", Optional.of(result.expertOffsets()), outputs.expertOffsets());
        return result;
    }

    private static void isAt(String name, Optional<Tensor> result, Optional<Tensor> given) {
        Checks.equal(
                "address of " + name + " where the caller gave a tensor",
                result.map(Tensor::address),
                given.map(Tensor::address));
    }

    private long worstRows() {
        long capacity = buffer.shape().receiveCapacity(workload.ranks());
        return options.layout() == RowLayout.BY_EXPERT
                ? capacity * workload.topK() + (long) workload.expertsOf(rank).length * (options.alignment() - 1)
                : capacity;
    }

    /** Tensors for all results but the rows, with room for the worst case. */
    private DispatchOutputs outputs(boolean weighted) {
        boolean byExpert = options.layout() == RowLayout.BY_EXPERT;
        int experts = workload.expertsOf(rank).length;
        long rows = worstRows();
        DispatchOutputs.Builder outputs = DispatchOutputs.builder()
                .sourceRanks(arena.allocate(DataType.INT32, rows))
                .sourceTokens(arena.allocate(DataType.INT32, rows))
                .rowsPerSource(arena.allocate(DataType.INT32, workload.ranks()))
                .rowsPerExpert(arena.allocate(DataType.INT32, experts))
                .expertOffsets(arena.allocate(DataType.INT64, experts + 1L));
        if (options.fp8()) {
            outputs.scales(arena.allocate(
                    options.scaleType(),
                    ScaleTensor.dims(options.scaleType(), options.scaleLayout(), workload.scales(), rows)));
        }
        if (!byExpert) {
            outputs.topkIds(arena.allocate(options.idType(), rows, workload.topK()));
        }
        if (weighted) {
            outputs.topkWeights(
                    byExpert
                            ? arena.allocate(DataType.FP32, rows)
                            : arena.allocate(DataType.FP32, rows, workload.topK()));
        }
        return outputs.build();
    }

    private DispatchResult settled(DispatchResult result) {
        if (options.async()) {
            result.event().await(Checks.patience());
            Checks.that(result.event().isDone(), "an event that was awaited is not done");
        }
        return result;
    }

    /** Other rows and weights along the same routes. */
    void cachedDispatch(DispatchHandle handle) {
        Workload other = workload.withData(workload.seed() + 1);
        Inputs fresh = new Inputs(arena, other);
        DispatchRequest.Builder request = DispatchRequest.cached(
                        options.fp8() ? fresh.fp8Rows(rank, options.rows()) : fresh.rows(rank), handle)
                .expertAlignment(options.alignment())
                .options(opOptions(LateInputs.NONE));
        addSizing(request);
        if (options.fp8()) {
            addScales(request, fresh);
        }
        if (options.weights()) {
            request.topkWeights(fresh.weights(rank));
        }
        RowTable again = RowTable.of(arriving(other), rank, options.layout(), options.alignment(), masked);
        verifier.dispatch(start(request, options.weights()), again, options.carried());
    }

    /** Expert outputs back, compared with the oracle. */
    void combine(DispatchHandle handle) {
        CombineResult result = combine(handle, workload.randomOutputs());
        verifier.combine(
                result, new CombineOracle(arriving, workload.randomOutputs(), masked), workload, rank, options.want());
    }

    CombineResult combine(DispatchHandle handle, OutputRows outputs) {
        CombineRequest.Builder request = CombineRequest.of(combineInput(handle, outputs), handle)
                .precision(options.precision())
                .options(opOptions(LateInputs.NONE));
        for (int b = 0; b < options.biases(); b++) {
            request.bias(inputs.bias(b, rank));
        }
        if (options.returned()) {
            request.weights(inputs.returnedWeights(table, handle.rows()));
        }
        if (!options.out()) {
            return settled(buffer.combine(request.build()));
        }
        Tensor out = arena.allocate(DataType.BF16, workload.tokens(rank), workload.hidden());
        Optional<Tensor> weights = options.returned()
                ? Optional.of(arena.allocate(DataType.FP32, workload.tokens(rank), workload.topK()))
                : Optional.empty();
        weights.ifPresent(request::outWeights);
        CombineResult result = settled(buffer.combine(request.out(out).build()));
        isAt("combined weights", result.weights(), weights);
        Checks.equal(
                "address of the combined rows where out was given", result.out().address(), out.address());
        return result;
    }

    private CombineResult settled(CombineResult result) {
        if (options.async()) {
            result.event().await(Checks.patience());
        }
        return result;
    }

    private Tensor combineInput(DispatchHandle handle, OutputRows outputs) {
        if (!options.zeroCopy() || options.layout() != RowLayout.BY_RANK) {
            return inputs.outputs(table, outputs, handle.rows());
        }
        Tensor own = buffer.combineInput();
        Tensor x = Tensor.of(own.memory(), DataType.BF16, handle.rows(), workload.hidden());
        inputs.outputs(x, table, outputs);
        return x;
    }

    private OpOptions opOptions(LateInputs late) {
        OpOptions how = late.options(OpOptions.DEFAULT);
        return options.async()
                ? how.onStream(AsyncStream.of(options.stream(), arena, buffer.group()))
                        .asynchronous()
                : how.onStream(options.stream());
    }

    /** What of the workload arrives. */
    Workload arriving() {
        return arriving;
    }

    RowTable table() {
        return table;
    }

    Arena arena() {
        return arena;
    }

    Verifier verifier() {
        return verifier;
    }

    Inputs inputs() {
        return inputs;
    }

    @Override
    public void close() {
        arena.close();
    }
}
