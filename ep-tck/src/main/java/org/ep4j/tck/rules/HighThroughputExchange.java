package org.ep4j.tck.rules;

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
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.Workload;

/** One high-throughput exchange of one rank, every result compared with the oracle. */
final class HighThroughputExchange extends Exchange {
    private final HighThroughputOptions options;
    final RowTable table;

    HighThroughputExchange(RankContext context, EpBuffer buffer, Workload workload, HighThroughputOptions options) {
        this(context, buffer, workload, options, Set.of());
    }

    HighThroughputExchange(
            RankContext context,
            EpBuffer buffer,
            Workload workload,
            HighThroughputOptions options,
            Set<Integer> masked) {
        super(context, buffer, workload, masked, options.async(), options.stream());
        this.options = options;
        this.table = RowTable.of(workload, rank, options.layout(), options.alignment(), masked);
    }

    /** A whole round: dispatch, the cached dispatch where asked for, and combine, everything compared; the handle is closed. */
    void round() {
        DispatchResult result = dispatch();
        verify(result);
        if (options.cached()) {
            cachedDispatch(result.handle());
        }
        CombineResult combined = combine(result.handle(), workload.randomOutputs());
        result.handle().close();
        verify(combined);
    }

    /** Compares the result of {@link #dispatch}. */
    void verify(DispatchResult result) {
        verify(result, table);
    }

    private void verify(DispatchResult result, RowTable expected) {
        verifier.dispatch(result, expected, options.carried());
        if (!options.exactCounts()) {
            long most = buffer.maxRows(options.layout(), options.alignment());
            Checks.equal("maxRows(" + options.layout() + ", " + options.alignment() + ")", most, result.rows());
        }
    }

    DispatchResult dispatch() {
        Tensor ids = inputs.ids(rank, options.idType());
        Tensor x = options.fp8() ? inputs.fp8Rows(rank, options.rows()) : inputs.rows(rank);
        LateInputs late = new LateInputs(arena, options.after(), ids, x);
        DispatchRequest.Builder request =
                DispatchRequest.builder(x, ids).layout(options.layout()).expertAlignment(options.alignment());
        addSizing(request);
        if (options.fp8()) {
            request.scales(inputs.fp8Scales(rank));
        }
        if (options.weights()) {
            request.topkWeights(inputs.weights(rank));
        }
        return start(request, late);
    }

    private void addSizing(DispatchRequest.Builder request) {
        if (options.zeroPadding()) {
            request.zeroPadding();
        }
        if (!options.exactCounts()) {
            request.worstCase();
        }
    }

    private DispatchResult start(DispatchRequest.Builder request, LateInputs late) {
        if (!options.out()) {
            return settled(buffer(late).dispatch(request.build()));
        }
        Tensor out = arena.allocate(options.rows(), table.rows() + 3L, workload.hidden());
        DispatchResult result = settled(buffer(late).dispatch(request.out(out).build()));
        Checks.equal("address of x in a dispatch with out()", result.x().address(), out.address());
        return result;
    }

    private DispatchResult settled(DispatchResult result) {
        if (options.async()) {
            result.event().await(Checks.patience());
            Checks.that(result.event().isDone(), "an event is not done although await() returned");
        }
        return result;
    }

    /** Other rows and weights along the same routes. */
    void cachedDispatch(DispatchHandle handle) {
        Workload other = workload.withData(workload.seed() + 1);
        Inputs fresh = new Inputs(arena, other);
        // The alignment is the handle's.
        DispatchRequest.Builder request =
                DispatchRequest.builder(options.fp8() ? fresh.fp8Rows(rank, options.rows()) : fresh.rows(rank), handle);
        addSizing(request);
        if (options.fp8()) {
            request.scales(fresh.fp8Scales(rank));
        }
        if (options.weights()) {
            request.topkWeights(fresh.weights(rank));
        }
        RowTable again = RowTable.of(other, rank, options.layout(), options.alignment(), masked);
        verify(start(request, LateInputs.NONE), again);
    }

    /** Expert outputs back, compared with the oracle. */
    void combine(DispatchHandle handle) {
        verify(combine(handle, workload.randomOutputs()));
    }

    private void verify(CombineResult result) {
        verifier.combine(
                result, new CombineOracle(workload, workload.randomOutputs(), masked), workload, rank, options.want());
    }

    CombineResult combine(DispatchHandle handle, OutputRows outputs) {
        CombineRequest.Builder request =
                CombineRequest.builder(combineInput(handle, outputs), handle).precision(options.precision());
        for (int b = 0; b < options.biases(); b++) {
            request.bias(inputs.bias(b, rank));
        }
        if (options.returned()) {
            request.weights(inputs.returnedWeights(table, handle.rows()));
        }
        if (!options.out()) {
            return settled(buffer(LateInputs.NONE).combine(request.build()));
        }
        Tensor out = arena.allocate(DataType.BF16, workload.tokens(rank), workload.hidden());
        CombineResult result =
                settled(buffer(LateInputs.NONE).combine(request.out(out).build()));
        Checks.equal("address of the rows of a combine with out()", result.out().address(), out.address());
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
}
