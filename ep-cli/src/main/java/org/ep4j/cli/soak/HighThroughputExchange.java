package org.ep4j.cli.soak;

import java.time.Duration;
import java.util.function.BiConsumer;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.Tensor;
import org.ep4j.cli.soak.ExchangePlan.OutputPlace;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.Verifier.Carried;
import org.ep4j.tck.oracle.Verifier.CombineWant;
import org.ep4j.tck.oracle.Workload;

/** An exchange of high throughput. */
final class HighThroughputExchange extends Exchange {
    /** Rows of a caller's tensor beyond those that come. */
    private static final long SPARE_ROWS = 3;

    private final ExchangePlan.High options;
    private final RowTable table;
    private final Carried carried;

    HighThroughputExchange(EpBuffer buffer, ExchangePlan plan, Duration patience, BiConsumer<String, String> wrong) {
        super(buffer, plan, patience, wrong);
        this.options = plan.high();
        this.table = table(workload);
        this.carried = new Carried(
                options.rows(), options.ids(), options.weights(), options.zeroPadding(), options.exactCounts());
    }

    private RowTable table(Workload rows) {
        return RowTable.of(rows, rank, options.layout(), options.alignment(), masked);
    }

    @Override
    void run() {
        begin("high-throughput dispatch " + options);
        DispatchRequest.Builder request = DispatchRequest.of(rows(inputs), inputs.ids(rank, options.ids()))
                .layout(options.layout());
        DispatchResult dispatched = dispatch(request, inputs);
        hold();
        compare(() -> verifier.dispatch(dispatched, table, carried));
        if (options.cached() && options.outputs() != OutputPlace.DISPATCHED_ROWS) {
            dispatchAgain(dispatched);
        }
        combine(dispatched);
    }

    private Tensor rows(Inputs from) {
        return options.rows().isFp8() ? from.fp8Rows(rank, options.rows()) : from.rows(rank);
    }

    private DispatchResult dispatch(DispatchRequest.Builder request, Inputs from) {
        request.expertAlignment(options.alignment()).options(options(options.async()));
        if (options.zeroPadding()) {
            request.zeroPadding();
        }
        if (options.rows().isFp8()) {
            request.scales(from.fp8Scales(rank));
        }
        if (options.weights()) {
            request.topkWeights(from.weights(rank));
        }
        if (!options.exactCounts()) {
            request.worstCase();
        } else if (options.out()) {
            request.out(arena.allocate(options.rows(), table.rows() + SPARE_ROWS, workload.hidden()));
        }
        DispatchResult result = buffer.dispatch(request.build());
        if (isAsync(options.async())) {
            result.event().await(patience());
        }
        return result;
    }

    /** Other rows along the same routes. */
    private void dispatchAgain(DispatchResult first) {
        begin("high-throughput dispatch again " + options);
        Workload other = workload.withData(workload.seed() + 1);
        Inputs fresh = new Inputs(arena, other);
        DispatchResult again = dispatch(DispatchRequest.cached(rows(fresh), first.handle()), fresh);
        compare(() -> verifier.dispatch(again, table(other), carried));
    }

    private void combine(DispatchResult dispatched) {
        begin("high-throughput combine " + options);
        boolean echo = options.outputs() == OutputPlace.DISPATCHED_ROWS;
        OutputRows outputs = echo ? workload.echoOutputs() : workload.randomOutputs();
        CombineRequest.Builder request = CombineRequest.of(outputs(dispatched, outputs), dispatched.handle())
                .precision(options.precision())
                .options(options(options.async()));
        for (int b = 0; b < options.biases(); b++) {
            request.bias(inputs.bias(b, rank));
        }
        if (options.weights()) {
            request.weights(inputs.returnedWeights(table, dispatched.handle().rows()));
        }
        if (options.out()) {
            request.out(arena.allocate(DataType.BF16, workload.tokens(rank), workload.hidden()));
        }
        CombineResult combined = buffer.combine(request.build());
        if (isAsync(options.async())) {
            combined.event().await(patience());
        }
        CombineWant want = new CombineWant(options.layout(), options.precision(), options.biases(), options.weights());
        compare(() -> verifier.combine(combined, new CombineOracle(workload, outputs, masked), workload, rank, want));
    }

    private Tensor outputs(DispatchResult dispatched, OutputRows outputs) {
        long rows = dispatched.handle().rows();
        return switch (options.outputs()) {
            case DISPATCHED_ROWS -> dispatched.x();
            case OWN -> inputs.outputs(table, outputs, rows);
            case COMBINE_INPUT -> {
                Tensor x = Tensor.of(buffer.combineInput().memory(), DataType.BF16, rows, workload.hidden());
                inputs.outputs(x, table, outputs);
                yield x;
            }
        };
    }
}
