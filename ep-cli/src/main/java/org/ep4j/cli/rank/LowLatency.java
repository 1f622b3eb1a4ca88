package org.ep4j.cli.rank;

import java.util.Set;
import java.util.stream.IntStream;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.cli.rank.ExchangeSpec.Part;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.cli.rank.Recorder.Volume;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.SlotTable;
import org.ep4j.tck.oracle.Verifier.DispatchOptions;
import org.ep4j.tck.oracle.Workload;

/** Rounds of the low-latency mode. */
final class LowLatency {
    private final RankContext context;
    private final Part part;
    private final ExchangeInputs inputs;
    private final LowLatencyDispatchRequest whole;
    private final LowLatencyDispatchRequest halved;
    private final Tensor result;

    LowLatency(RankContext context, Part part) {
        this.context = context;
        this.part = part;
        this.inputs = new ExchangeInputs(context, part.tokens(), part.extras() && part.wire() == Wire.FP8);
        LowLatencyDispatchRequest.Builder builder =
                LowLatencyDispatchRequest.builder(inputs.x, inputs.ids).format(format());
        this.whole = builder.build();
        this.halved = builder.receiveHook().build();
        this.result = context.arena()
                .allocate(DataType.BF16, part.tokens(), context.spec().hidden());
    }

    ExchangeRank.Round prepare(int number) {
        Workload workload = context.spec().workload(number, part.tokens());
        inputs.load(workload);
        RowTable pairs = RowTable.of(workload, context.rank(), RowLayout.BY_RANK, 1, Set.of());
        SlotTable slots = SlotTable.of(workload, context.rank(), Set.of());
        return validate -> round(pairs, slots, validate);
    }

    /**
     * Runs a round.
     *
     * @param pairs rows that this rank receives, one for each token and source
     * @param slots the same, one for each local expert
     */
    private void round(RowTable pairs, SlotTable slots, boolean validate) {
        Workload workload = pairs.workload();
        OutputRows outputs = workload.randomOutputs();
        Volume sent = new Volume(
                pairs.rows(),
                pairs.rowsPerSource()[context.rank()],
                context.spec().wireBytes(part.wire()));
        Volume back = selections(workload);

        RowSteps steps = new RowSteps(context.spec(), pairs);
        context.ceiling(Operations.LL_DISPATCH, sent, () -> steps.lowLatencyDispatch(part.wire()));
        LowLatencyDispatchResult dispatched = context.recorder()
                .time(Operations.LL_DISPATCH, sent, () -> context.buffer().lowLatencyDispatch(whole));
        if (validate) {
            check(Operations.LL_DISPATCH, dispatched, slots);
        }
        Tensor input = combineInput(slots, outputs);
        context.ceiling(Operations.LL_COMBINE, back, () -> steps.combineOfSelections(true));
        LowLatencyCombineRequest request = combineOf(input, dispatched.handle());
        CombineResult combined = context.recorder()
                .time(Operations.LL_COMBINE, back, () -> context.buffer().lowLatencyCombine(request));
        if (validate) {
            check(Operations.LL_COMBINE, workload, outputs, combined);
        }
        dispatched.handle().close();
        if (part.extras()) {
            halves(slots, sent, validate);
            together(slots, outputs, sent, back, validate);
            throughOtherMode(workload, sent, validate);
        }
    }

    private WireFormat format() {
        return part.wire() == Wire.FP8 ? WireFormat.FP8 : WireFormat.BF16;
    }

    /** Returns the next memory that a combine reads, with the outputs of experts. */
    private Tensor combineInput(SlotTable slots, OutputRows outputs) {
        Tensor input = context.buffer().nextLowLatencyCombineInput();
        new Inputs(context.arena(), slots.workload()).outputs(input, slots, outputs);
        return input;
    }

    private void check(String operation, LowLatencyDispatchResult dispatched, SlotTable slots) {
        long rows = slots.capacity(context.buffer().shape());
        context.checks().check(operation, () -> context.verifier().dispatch(dispatched, slots, format(), rows));
    }

    private void check(String operation, Workload workload, OutputRows outputs, CombineResult combined) {
        CombineOracle oracle = new CombineOracle(workload, outputs, Set.of());
        context.checks()
                .check(
                        operation,
                        () -> context.verifier()
                                .combine(combined, oracle, workload, context.rank(), CombinePrecision.EXACT));
    }

    private LowLatencyCombineRequest combineOf(Tensor input, LowLatencyHandle handle) {
        return LowLatencyCombineRequest.builder(input, handle)
                .topkWeights(inputs.weights)
                .out(result)
                .build();
    }

    /** Measures sending and receiving apart; receiving starts when all ranks have sent, as it does behind other work. */
    private void halves(SlotTable slots, Volume sent, boolean validate) {
        LowLatencyDispatchResult hooked = context.recorder()
                .time(Operations.LL_SEND, sent, () -> context.buffer().lowLatencyDispatch(halved));
        context.recorder().time(Operations.LL_RECEIVE, sent, hooked::receive);
        if (validate) {
            check(Operations.LL_RECEIVE, hooked, slots);
        }
        hooked.handle().close();
    }

    private void together(SlotTable slots, OutputRows outputs, Volume sent, Volume back, boolean validate) {
        Tensor input = combineInput(slots, outputs);
        // One row size is all that a series has: the bytes of both directions, as rows of a dispatch.
        Volume both = new Volume(
                (sent.bytes() + back.bytes()) / sent.rowBytes(),
                (sent.own() * sent.rowBytes() + back.own() * back.rowBytes()) / sent.rowBytes(),
                sent.rowBytes());
        CombineResult combined = context.recorder().time(Operations.LL_BOTH, both, () -> dispatchAndCombine(input));
        if (validate) {
            check(Operations.LL_BOTH, slots.workload(), outputs, combined);
        }
    }

    private CombineResult dispatchAndCombine(Tensor input) {
        LowLatencyHandle handle = context.buffer().lowLatencyDispatch(whole).handle();
        CombineResult combined = context.buffer().lowLatencyCombine(combineOf(input, handle));
        handle.close();
        return combined;
    }

    /** Does what a caller without this mode would: the other mode's dispatch, grouped by expert, with exact counts. */
    private void throughOtherMode(Workload workload, Volume sent, boolean validate) {
        DispatchRequest request =
                inputs.dispatch(part.wire()).layout(RowLayout.BY_EXPERT).build();
        DispatchResult dispatched = context.recorder()
                .time(Operations.LL_BY_HT, sent, () -> context.buffer().dispatch(request));
        if (validate) {
            RowTable table = RowTable.of(workload, context.rank(), RowLayout.BY_EXPERT, 1, Set.of());
            DispatchOptions carried = new DispatchOptions(
                    part.wire() == Wire.FP8 ? DataType.FP8_E4M3 : DataType.BF16, DataType.INT64, false, false, true);
            context.checks().check(Operations.LL_BY_HT, () -> context.verifier().dispatch(dispatched, table, carried));
        }
        dispatched.handle().close();
    }

    /** Returns the volume of an exact combine, which brings one row for each selection to the token's rank. */
    private Volume selections(Workload workload) {
        int rank = context.rank();
        int[] owners = IntStream.range(0, workload.tokens(rank))
                .flatMap(token -> workload.selections(rank, token))
                .map(workload::rankOf)
                .toArray();
        long own = IntStream.of(owners).filter(owner -> owner == rank).count();
        return new Volume(owners.length, own, context.spec().rowBytes());
    }
}
