package org.ep4j.cli.rank;

import java.util.Optional;
import java.util.Set;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.cli.rank.Recorder.Volume;
import org.ep4j.cli.rank.WorkSpec.Part;
import org.ep4j.cli.rank.WorkSpec.Wire;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.Verifier.Carried;
import org.ep4j.tck.oracle.Verifier.CombineWant;
import org.ep4j.tck.oracle.Workload;

/** Rounds of the high-throughput mode. */
final class HighThroughput implements RankWork.Exchange {
    private final RankContext context;
    private final Part part;
    private final Loader loader;
    private final RowLayout layout;
    private final DispatchRequest request;
    private final Tensor result;
    private final Tensor foreign;

    /** What was prepared; empty before that. */
    private Optional<Prepared> prepared = Optional.empty();

    /**
     * Inputs, and what a dispatch makes of them.
     *
     * @param byRank rows that this rank receives, by rank
     * @param table the same in the layout of the measurement
     */
    private record Prepared(Workload workload, RowTable byRank, RowTable table) {}

    HighThroughput(RankContext context, Part part) {
        this.context = context;
        this.part = part;
        this.layout = context.spec().layout();
        this.loader = new Loader(context, part.tokens(), part.wire() == Wire.FP8);
        this.request = loader.dispatch(part.wire())
                .topkWeights(loader.weights())
                .layout(layout)
                .build();
        this.result = context.arena()
                .allocate(DataType.BF16, part.tokens(), context.spec().hidden());
        this.foreign = context.arena()
                .allocate(DataType.BF16, foreignRows(), context.spec().hidden());
    }

    /** Expert outputs lie outside the buffer by expert, and for the measurement of what that costs. */
    private long foreignRows() {
        long perToken = layout == RowLayout.BY_EXPERT ? context.spec().topK() : 1;
        return part.extras() || layout == RowLayout.BY_EXPERT ? context.spec().ranks() * perToken * part.tokens() : 0;
    }

    @Override
    public void prepare(int number) {
        Workload workload = context.spec().workload(number, part.tokens());
        loader.load(workload);
        RowTable byRank = RowTable.of(workload, context.rank(), RowLayout.BY_RANK, 1, Set.of());
        RowTable table =
                layout == RowLayout.BY_RANK ? byRank : RowTable.of(workload, context.rank(), layout, 1, Set.of());
        prepared = Optional.of(new Prepared(workload, byRank, table));
    }

    @Override
    public void round(boolean validate) {
        Prepared inputs = prepared.orElseThrow();
        Workload workload = inputs.workload();
        RowTable byRank = inputs.byRank();
        RowTable table = inputs.table();
        Volume sent = volume(byRank, context.spec().wireBytes(part.wire()));
        RowSteps steps = new RowSteps(context.spec(), byRank);
        context.ceiling(Operations.HT_DISPATCH, sent, () -> steps.dispatch(layout, part.wire()));
        DispatchResult dispatched = context.recorder()
                .time(Operations.HT_DISPATCH, sent, () -> context.buffer().dispatch(request));
        if (validate) {
            Carried carried = new Carried(
                    part.wire() == Wire.FP8 ? DataType.FP8_E4M3 : DataType.BF16, DataType.INT64, true, false, true);
            context.checks()
                    .check(Operations.HT_DISPATCH, () -> context.verifier().dispatch(dispatched, table, carried));
        }
        combine(workload, steps, dispatched, table, validate);
        dispatched.handle().close();
    }

    private void combine(
            Workload workload, RowSteps steps, DispatchResult dispatched, RowTable table, boolean validate) {
        // Without a check the rows go back as they came: they lie where combine reads them, as an expert's output
        // would.
        OutputRows outputs = validate ? workload.randomOutputs() : workload.echoOutputs();
        boolean foreignOnly = layout == RowLayout.BY_EXPERT;
        Tensor input = (foreignOnly ? foreign : context.buffer().combineInput()).rows(0, table.rows());
        if (validate || foreignOnly || part.wire() == Wire.FP8) {
            new Inputs(context.arena(), workload).outputs(input, table, outputs);
        }
        Volume back = volume(table, context.spec().rowBytes());
        String operation = foreignOnly ? Operations.HT_COMBINE_STAGED : Operations.HT_COMBINE;
        context.ceiling(operation, back, () -> foreignOnly ? steps.combineOfSelections() : steps.combine());
        CombineRequest request =
                CombineRequest.builder(input, dispatched.handle()).out(result).build();
        CombineResult combined =
                context.recorder().time(operation, back, () -> context.buffer().combine(request));
        if (validate) {
            check(operation, workload, outputs, combined);
        }
        if (part.extras() && !foreignOnly) {
            Tensor outside = foreign.rows(0, table.rows());
            new Inputs(context.arena(), workload).outputs(outside, table, outputs);
            CombineRequest again = CombineRequest.builder(outside, dispatched.handle())
                    .out(result)
                    .build();
            context.ceiling(Operations.HT_COMBINE_STAGED, back, steps::stagedCombine);
            CombineResult staged = context.recorder()
                    .time(
                            Operations.HT_COMBINE_STAGED,
                            back,
                            () -> context.buffer().combine(again));
            if (validate) {
                check(Operations.HT_COMBINE_STAGED, workload, outputs, staged);
            }
        }
    }

    private void check(String operation, Workload workload, OutputRows outputs, CombineResult combined) {
        CombineOracle oracle = new CombineOracle(workload, outputs, Set.of());
        CombineWant want = new CombineWant(layout, CombinePrecision.EXACT, 0, false);
        context.checks()
                .check(operation, () -> context.verifier().combine(combined, oracle, workload, context.rank(), want));
    }

    private Volume volume(RowTable table, long rowBytes) {
        return new Volume(table.rows(), table.rowsPerSource()[context.rank()], rowBytes);
    }
}
