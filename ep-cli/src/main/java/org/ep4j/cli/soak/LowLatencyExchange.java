package org.ep4j.cli.soak;

import java.time.Duration;
import java.util.function.BiConsumer;
import org.ep4j.CombinePrecision;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchRequest.WireFormat;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.Tensor;
import org.ep4j.cli.soak.ExchangePlan.OutputPlace;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.SlotTable;

/** An exchange of low latency. */
final class LowLatencyExchange extends Exchange {
    private final ExchangePlan.Low options;
    private final SlotTable table;
    private final long slots;

    LowLatencyExchange(EpBuffer buffer, ExchangePlan plan, Duration patience, BiConsumer<String, String> wrong) {
        super(buffer, plan, patience, wrong);
        this.options = plan.low();
        this.table = SlotTable.of(workload, rank, masked);
        this.slots = buffer.shape().lowLatencyRows(workload.ranks());
    }

    @Override
    void run() {
        begin("low-latency dispatch " + options);
        LowLatencyDispatchResult dispatched = dispatch();
        hold();
        compare(() -> verifier.dispatch(dispatched, table, options.format(), slots));
        begin("low-latency combine " + options);
        OutputRows outputs = workload.randomOutputs();
        LowLatencyCombineResult combined = combine(dispatched, outputs);
        CombineOracle oracle = new CombineOracle(workload, outputs, masked);
        compare(() -> options.logFmt()
                ? verifier.combineLogFmt(combined, oracle, workload, rank, options.precision())
                : verifier.combine(combined, oracle, workload, rank, options.precision()));
    }

    private LowLatencyDispatchResult dispatch() {
        LowLatencyDispatchRequest.Builder request = LowLatencyDispatchRequest.of(
                        inputs.rows(rank), inputs.ids(rank, options.ids()))
                .format(options.format())
                .options(options(options.async()));
        if (options.precision() == CombinePrecision.RANK_PARTIAL) {
            request.topkWeights(inputs.weights(rank));
        }
        if (options.hook()) {
            request.hook();
        }
        if (options.out()) {
            putInto(request);
        }
        LowLatencyDispatchResult result = buffer.dispatch(request.build());
        if (options.hook()) {
            result.receive();
        }
        if (isAsync(options.async())) {
            result.event().await(patience());
        }
        return result;
    }

    private void putInto(LowLatencyDispatchRequest.Builder request) {
        boolean fp8 = options.format() != WireFormat.BF16;
        boolean bytes = options.format() == WireFormat.FP8_UE8M0;
        int local = table.localExperts();
        request.out(arena.allocate(fp8 ? DataType.FP8_E4M3 : DataType.BF16, local, slots, workload.hidden()));
        if (fp8) {
            request.outScales(arena.allocate(
                    bytes ? DataType.UE8M0 : DataType.FP32,
                    local,
                    slots,
                    bytes ? (workload.scales() + 3) / 4 * 4 : workload.scales()));
        }
    }

    private LowLatencyCombineResult combine(LowLatencyDispatchResult dispatched, OutputRows outputs) {
        Tensor x = options.outputs() == OutputPlace.COMBINE_INPUT
                ? buffer.lowLatencyCombineInput()
                : arena.allocate(DataType.BF16, table.localExperts(), slots, workload.hidden());
        inputs.outputs(x, table, outputs);
        LowLatencyCombineRequest.Builder request = LowLatencyCombineRequest.of(x, dispatched.handle())
                .precision(options.precision())
                .options(options(options.async()));
        if (options.precision() != CombinePrecision.RANK_PARTIAL) {
            request.topkWeights(inputs.weights(rank));
        }
        if (options.logFmt()) {
            request.logFmt();
        }
        if (options.hook()) {
            request.hook();
        }
        if (options.out()) {
            request.out(arena.allocate(DataType.BF16, workload.tokens(rank), workload.hidden()));
        }
        LowLatencyCombineResult result = buffer.combine(request.build());
        if (options.hook()) {
            result.receive();
        }
        if (isAsync(options.async())) {
            result.event().await(patience());
        }
        return result;
    }
}
