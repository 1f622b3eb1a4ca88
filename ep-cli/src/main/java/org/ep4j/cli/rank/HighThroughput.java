package org.ep4j.cli.rank;

import java.util.Set;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.cli.rank.ExchangeSpec.Part;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.cli.rank.Recorder.Volume;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.Verifier.CombineOptions;
import org.ep4j.tck.oracle.Verifier.DispatchOptions;
import org.ep4j.tck.oracle.Workload;

/** Rounds of the high-throughput mode. */
final class HighThroughput {
    private final RankContext context;
    private final Part part;
    private final ExchangeInputs inputs;
    private final RowLayout layout;
    private final DispatchRequest request;
    private final Tensor result;
    private final Tensor foreign;

    HighThroughput(RankContext context, Part part) {
        this.context = context;
        this.part = part;
        this.layout = part.layout();
        this.inputs = new ExchangeInputs(context, part.tokens(), part.wire() == Wire.FP8);
        this.request = inputs.dispatch(part.wire())
                .topkWeights(inputs.weights)
                .layout(layout)
                .build();
        int hidden = context.spec().hidden();
        this.result = context.arena().allocate(DataType.BF16, part.tokens(), hidden);
        this.foreign = context.arena().allocate(DataType.BF16, foreignRows(), hidden);
    }

    /** Expert outputs lie outside the buffer by expert, and for the measurement of what that costs. */
    private long foreignRows() {
        long perToken = layout == RowLayout.BY_EXPERT ? context.spec().topK() : 1;
        return part.extras() || layout == RowLayout.BY_EXPERT ? context.spec().ranks() * perToken * part.tokens() : 0;
    }

    ExchangeRank.Round prepare(int number) {
        Workload workload = context.spec().workload(number, part.tokens());
        inputs.load(workload);
        RowTable byRank = RowTable.of(workload, context.rank(), RowLayout.BY_RANK, 1, Set.of());
        RowTable table =
                layout == RowLayout.BY_RANK ? byRank : RowTable.of(workload, context.rank(), layout, 1, Set.of());
        return validate -> round(byRank, table, validate);
    }

    /**
     * Runs a round.
     *
     * @param byRank rows that this rank receives, by rank
     * @param table the same in the layout of the measurement
     */
    private void round(RowTable byRank, RowTable table, boolean validate) {
        Volume sent = volume(byRank, context.spec().wireBytes(part.wire()));
        RowSteps steps = new RowSteps(context.spec(), byRank);
        context.ceiling(Operations.HT_DISPATCH, sent, () -> steps.dispatch(layout, part.wire()));
        DispatchResult dispatched = context.recorder()
                .time(Operations.HT_DISPATCH, sent, () -> context.buffer().dispatch(request));
        if (validate) {
            DispatchOptions carried = new DispatchOptions(
                    part.wire() == Wire.FP8 ? DataType.FP8_E4M3 : DataType.BF16, DataType.INT64, true, false, true);
            context.checks()
                    .check(Operations.HT_DISPATCH, () -> context.verifier().dispatch(dispatched, table, carried));
        }
        combine(steps, byRank, dispatched, table, validate);
        dispatched.handle().close();
    }

    private void combine(RowSteps steps, RowTable byRank, DispatchResult dispatched, RowTable table, boolean validate) {
        Workload workload = table.workload();
        // Without a check the rows go back as they came: they lie where combine reads them, as an expert's output
        // would.
        OutputRows outputs = validate ? workload.randomOutputs() : workload.echoOutputs();
        Inputs expertOutputs = new Inputs(context.arena(), workload);
        boolean foreignOnly = layout == RowLayout.BY_EXPERT;
        Tensor input = (foreignOnly ? foreign : context.buffer().combineInput()).rows(0, table.rows());
        if (validate || foreignOnly || part.wire() == Wire.FP8) {
            expertOutputs.outputs(input, table, outputs);
        }
        Volume back = volume(table, context.spec().rowBytes());
        String operation = foreignOnly ? Operations.HT_COMBINE_STAGED : Operations.HT_COMBINE;
        context.ceiling(operation, back, () -> foreignOnly ? steps.combineOfSelections(false) : steps.combine());
        CombineRequest exact =
                CombineRequest.builder(input, dispatched.handle()).out(result).build();
        combine(operation, back, exact, table, outputs, validate);
        if (part.extras() && foreignOnly) {
            CombineRequest partial = CombineRequest.builder(input, dispatched.handle())
                    .precision(CombinePrecision.RANK_PARTIAL)
                    .out(result)
                    .build();
            Volume sums = volume(byRank, context.spec().rowBytes());
            combine(Operations.HT_COMBINE_PARTIAL, sums, partial, table, outputs, validate);
        } else if (part.extras()) {
            Tensor outside = foreign.rows(0, table.rows());
            expertOutputs.outputs(outside, table, outputs);
            context.ceiling(Operations.HT_COMBINE_STAGED, back, steps::stagedCombine);
            CombineRequest staged = CombineRequest.builder(outside, dispatched.handle())
                    .out(result)
                    .build();
            combine(Operations.HT_COMBINE_STAGED, back, staged, table, outputs, validate);
        }
    }

    private void combine(
            String operation,
            Volume volume,
            CombineRequest request,
            RowTable table,
            OutputRows outputs,
            boolean validate) {
        CombineResult combined = context.recorder()
                .time(operation, volume, () -> context.buffer().combine(request));
        if (validate) {
            CombineOracle oracle = new CombineOracle(table.workload(), outputs, Set.of());
            CombineOptions want = new CombineOptions(layout, request.precision(), 0, false);
            context.checks()
                    .check(
                            operation,
                            () -> context.verifier().combine(combined, oracle, table.workload(), context.rank(), want));
        }
    }

    private Volume volume(RowTable table, long rowBytes) {
        return new Volume(table.rows(), table.rowsPerSource()[context.rank()], rowBytes);
    }
}
