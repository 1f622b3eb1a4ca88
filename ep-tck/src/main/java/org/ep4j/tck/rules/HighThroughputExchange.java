package org.ep4j.tck.rules;

import java.util.Optional;
import java.util.Set;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.Verifier;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;

/**
 * One high-throughput exchange of one rank. Parameters besides those of {@link Exchange}: {@code layout}; {@code align} (alignment of
 * experts); {@code pad} (zero padding); {@code worst} (worst-case results); {@code fp8} or {@code fnuz} (FP8 rows); {@code noweights};
 * {@code bias} (their number); {@code noreturn} (no weights in the combine); {@code cached} (a second dispatch along the handle of the
 * first, with other rows); {@code stats} (both kinds of statistics).
 */
final class HighThroughputExchange extends Exchange {
    private final RowLayout layout;
    private final int alignment;
    private final DataType rowType;
    private final boolean worstCase;
    private final boolean weights;
    private final RowTable table;

    HighThroughputExchange(RankContext context, EpBuffer buffer, Params params) {
        this(context, buffer, new Setup(context, params).workload(), params);
    }

    HighThroughputExchange(RankContext context, EpBuffer buffer, Workload workload, Params params) {
        this(context, buffer, workload, params, Set.of());
    }

    private HighThroughputExchange(
            RankContext context, EpBuffer buffer, Workload workload, Params params, Set<Integer> masked) {
        super(context, buffer, workload, params, masked);
        this.layout = params.one(RowLayout.class, "layout", RowLayout.BY_RANK);
        this.alignment = params.number("align", 1);
        this.rowType =
                params.has("fnuz") ? DataType.FP8_E4M3_FNUZ : params.has("fp8") ? DataType.FP8_E4M3 : DataType.BF16;
        this.worstCase = params.has("worst");
        this.weights = !params.has("noweights");
        this.table = table(workload);
    }

    private RowTable table(Workload of) {
        return RowTable.of(of, rank, layout, alignment, masked);
    }

    /** Runs a whole round of an exchange that the parameters describe, without the ranks that the buffer has masked. */
    static void run(RankContext context, EpBuffer buffer, Params params) {
        Workload workload = new Setup(context, params).workload();
        try (HighThroughputExchange exchange =
                new HighThroughputExchange(context, buffer, workload, params, buffer.maskedRanks())) {
            exchange.round();
        }
    }

    /** Runs a dispatch, the cached dispatch where asked for, and a combine, verifies everything, and closes the handle. */
    void round() {
        DispatchResult result = dispatch();
        verify(result);
        if (params.has("cached")) {
            cachedDispatch(result.handle());
        }
        CombineResult combined = combine(result.handle());
        result.handle().close();
        verify(combined);
    }

    void verify(DispatchResult result) {
        verify(result, table);
    }

    private void verify(DispatchResult result, RowTable expected) {
        boolean zeroPadding = params.has("pad");
        verifier.dispatch(
                result, expected, new Verifier.DispatchOptions(rowType, idType, weights, zeroPadding, !worstCase));
        if (worstCase) {
            long most = buffer.maxRows(layout, alignment);
            Checks.equal("maxRows(" + layout + ", " + alignment + ")", most, result.rows());
        }
    }

    DispatchResult dispatch() {
        Tensor ids = inputs.ids(rank, idType);
        Tensor x = rows(inputs);
        LateInputs late = new LateInputs(arena, params.has("after"), ids, x);
        DispatchRequest.Builder request =
                DispatchRequest.builder(x, ids).layout(layout).expertAlignment(alignment);
        return dispatch(request, inputs, late);
    }

    private Tensor rows(Inputs from) {
        return rowType.isFp8() ? from.fp8Rows(rank, rowType) : from.rows(rank);
    }

    private DispatchResult dispatch(DispatchRequest.Builder request, Inputs from, LateInputs late) {
        if (params.has("pad")) {
            request.zeroPadding();
        }
        if (worstCase) {
            request.worstCase();
        }
        if (rowType.isFp8()) {
            request.scales(from.fp8Scales(rank));
        }
        if (weights) {
            request.topkWeights(from.weights(rank));
        }
        long room = worstCase ? buffer.maxRows(layout, alignment) : table.rows() + 3L;
        Optional<Tensor> target = target(rowType, room, workload.hidden());
        target.ifPresent(request::out);
        DispatchOutputs outputs = outputs(room);
        outputs.give(request);
        Optional<Statistics> added = statistics();
        added.ifPresent(s -> request.expertStats(s.counted).waitStats(s.waited));
        DispatchResult result = buffer(late).dispatch(request.build());
        await(result.event());
        // A cached dispatch has the same selections.
        added.ifPresent(s -> s.check(e -> table.rowsPerExpert()[e]));
        checkAddress("x in a dispatch", result::x, target);
        outputs.check(result);
        return result;
    }

    private Optional<Statistics> statistics() {
        return params.has("stats")
                ? Optional.of(new Statistics(arena, table.rowsPerExpert().length, workload.ranks()))
                : Optional.empty();
    }

    /** Returns tensors for what goes with rows, for so many rows. */
    private DispatchOutputs outputs(long room) {
        int local = table.rowsPerExpert().length;
        boolean byExpert = layout == RowLayout.BY_EXPERT;
        return new DispatchOutputs(
                rowType.isFp8() ? besides(DataType.FP32, room, workload.scales()) : Optional.empty(),
                byExpert ? Optional.empty() : besides(idType, room, workload.topK()),
                weights ? weightsFor(room) : Optional.empty(),
                besides(DataType.INT32, room),
                besides(DataType.INT32, room),
                besides(DataType.INT32, workload.ranks()),
                besides(DataType.INT32, local),
                besides(DataType.INT64, local + 1L));
    }

    private Optional<Tensor> weightsFor(long room) {
        return layout == RowLayout.BY_EXPERT
                ? besides(DataType.FP32, room)
                : besides(DataType.FP32, room, workload.topK());
    }

    /** Dispatches other rows and weights along the same routes, and verifies the result. */
    void cachedDispatch(DispatchHandle handle) {
        Workload other = workload.withData(workload.seed() + 1);
        Inputs fresh = new Inputs(arena, other);
        // The alignment is the handle's.
        verify(dispatch(DispatchRequest.builder(rows(fresh), handle), fresh, LateInputs.NONE), table(other));
    }

    void verify(CombineResult result) {
        verify(result, masked);
    }

    /** Compares a result with the oracle, where some ranks were masked after the dispatch. */
    void verify(CombineResult result, Set<Integer> without) {
        Verifier.CombineOptions options =
                new Verifier.CombineOptions(layout, precision, params.number("bias", 0), !params.has("noreturn"));
        verifier.combine(result, oracle(without), workload, rank, options);
    }

    CombineResult combine(DispatchHandle handle) {
        CombineRequest.Builder request =
                CombineRequest.builder(combineInput(handle), handle).precision(precision);
        for (int b = 0; b < params.number("bias", 0); b++) {
            request.bias(inputs.bias(b, rank));
        }
        if (!params.has("noreturn")) {
            request.weights(inputs.returnedWeights(table, handle.rows()));
        }
        Optional<Tensor> target = target(DataType.BF16, workload.tokens(rank), workload.hidden());
        target.ifPresent(request::out);
        Optional<Tensor> returned = params.has("noreturn")
                ? Optional.empty()
                : besides(DataType.FP32, workload.tokens(rank), workload.topK());
        returned.ifPresent(request::outWeights);
        Optional<Statistics> added = statistics();
        added.ifPresent(s -> request.waitStats(s.waited));
        CombineResult result = buffer(LateInputs.NONE).combine(request.build());
        await(result.event());
        added.ifPresent(Statistics::checkWaits);
        checkAddress("the rows of a combine", result::out, target);
        checkAddress("the weights of a combine", () -> result.weights().orElseThrow(), returned);
        return result;
    }

    private Tensor combineInput(DispatchHandle handle) {
        Tensor x = zeroCopy && layout == RowLayout.BY_RANK
                ? Tensor.of(buffer.combineInput().memory(), DataType.BF16, handle.rows(), workload.hidden())
                : arena.allocate(DataType.BF16, handle.rows(), workload.hidden());
        inputs.outputs(x, table, workload.randomOutputs());
        return x;
    }
}
