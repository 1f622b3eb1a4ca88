package org.ep4j.tck.rules;

import java.util.Optional;
import java.util.Set;
import java.util.zip.CRC32C;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.tck.oracle.SlotTable;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;

/**
 * One low-latency exchange of one rank. Parameters besides those of {@link Exchange}: {@code format} of dispatched rows; {@code
 * logfmt} (format of combined rows); {@code weights} ({@code dispatch}, {@code combine} or {@code both}); {@code hook} (send now,
 * receive later); {@code stats} (both kinds of statistics).
 */
final class LowLatencyExchange extends Exchange {
    final SlotTable table;
    private final WireFormat format;
    private final Weights weights;
    private final boolean hook;
    private final boolean statistics;
    private final long slots;
    private final CRC32C bits = new CRC32C();

    /** The operations that weights are given to: the dispatch, the combine, or both. */
    record Weights(boolean atDispatch, boolean atCombine) {
        /** Reads the parameter {@code weights}; without it, partial sums get weights at the dispatch. */
        static Weights of(Params params, CombinePrecision precision) {
            String weights = params.text("weights", precision == CombinePrecision.EXACT ? "combine" : "dispatch");
            return new Weights(!weights.equals("combine"), !weights.equals("dispatch"));
        }
    }

    LowLatencyExchange(RankContext context, EpBuffer buffer, Params params) {
        this(context, buffer, new Setup(context, params).workload(), params);
    }

    LowLatencyExchange(RankContext context, EpBuffer buffer, Workload workload, Params params) {
        this(context, buffer, workload, params, Set.of());
    }

    private LowLatencyExchange(
            RankContext context, EpBuffer buffer, Workload workload, Params params, Set<Integer> masked) {
        super(context, buffer, workload, params, masked);
        this.table = SlotTable.of(workload, rank, masked);
        this.format = params.one(WireFormat.class, "format", WireFormat.BF16);
        this.weights = Weights.of(params, precision);
        this.hook = params.has("hook");
        this.statistics = params.has("stats");
        this.slots = table.capacity(buffer.shape());
    }

    /** Runs a whole round of an exchange that the parameters describe, without the ranks that the buffer has masked. */
    static void run(RankContext context, EpBuffer buffer, Params params) {
        Workload workload = new Setup(context, params).workload();
        try (LowLatencyExchange exchange =
                new LowLatencyExchange(context, buffer, workload, params, buffer.maskedRanks())) {
            exchange.round();
        }
    }

    /** Runs a dispatch and a combine, verifies everything, and closes the handle. */
    void round() {
        LowLatencyDispatchResult result = dispatch();
        verify(result);
        CombineResult combined = combine(result.handle());
        result.handle().close();
        verify(combined);
    }

    /** Sends, receives, and awaits the end. */
    LowLatencyDispatchResult dispatch() {
        Statistics added = statistics();
        LowLatencyDispatchResult result = send(added);
        if (hook) {
            result.receive();
        }
        await(result.event());
        if (statistics) {
            added.check(table::count);
        }
        return result;
    }

    /** Sends; the caller receives, with the hook. */
    LowLatencyDispatchResult send() {
        return send(statistics());
    }

    private Statistics statistics() {
        return new Statistics(arena, table.localExperts(), workload.ranks());
    }

    private LowLatencyDispatchResult send(Statistics added) {
        Tensor ids = inputs.ids(rank, idType);
        Tensor x = inputs.rows(rank);
        LateInputs late = new LateInputs(arena, params.has("after"), ids, x);
        LowLatencyDispatchRequest.Builder request =
                LowLatencyDispatchRequest.builder(x, ids).format(format);
        if (weights.atDispatch()) {
            request.topkWeights(inputs.weights(rank));
        }
        if (hook) {
            request.receiveHook();
        }
        if (statistics) {
            request.expertStats(added.counted).waitStats(added.waited);
        }
        boolean fp8 = format != WireFormat.BF16;
        int local = table.localExperts();
        Optional<Tensor> target = target(fp8 ? DataType.FP8_E4M3 : DataType.BF16, local, slots, workload.hidden());
        target.ifPresent(request::out);
        if (fp8) {
            boolean bytes = format == WireFormat.FP8_UE8M0;
            int scales = bytes ? (workload.scales() + 3) / 4 * 4 : workload.scales();
            target(bytes ? DataType.UE8M0 : DataType.FP32, local, slots, scales).ifPresent(request::outScales);
        }
        Optional<Tensor> counts = besides(DataType.INT32, local);
        Optional<Tensor> tokens = besides(DataType.INT32, local, slots);
        Optional<Tensor> ranges = besides(DataType.INT64, local, workload.ranks());
        counts.ifPresent(request::outRowsPerExpert);
        tokens.ifPresent(request::outSourceTokens);
        ranges.ifPresent(request::outLayoutRanges);
        LowLatencyDispatchResult result = buffer(late).lowLatencyDispatch(request.build());
        if (!hook) {
            checkAddress("x in a dispatch", result::x, target);
            checkAddress("rowsPerExpert", result::rowsPerExpert, counts);
            checkAddress("sourceTokens", result::sourceTokens, tokens);
            checkAddress("layoutRanges", result::layoutRanges, ranges);
        }
        return result;
    }

    void verify(LowLatencyDispatchResult result) {
        verifier.dispatch(result, table, format, slots);
    }

    /** Sends back, receives, and awaits the end. */
    CombineResult combine(LowLatencyHandle handle) {
        Optional<Tensor> target = target(DataType.BF16, workload.tokens(rank), workload.hidden());
        CombineResult result = sendBack(handle, target);
        if (hook) {
            result.receive();
        }
        await(result.event());
        checkAddress("the rows of a combine", result::out, target);
        return result;
    }

    /** Sends back; the caller receives, with the hook. */
    CombineResult sendBack(LowLatencyHandle handle) {
        return sendBack(handle, target(DataType.BF16, workload.tokens(rank), workload.hidden()));
    }

    private CombineResult sendBack(LowLatencyHandle handle, Optional<Tensor> target) {
        Tensor x = zeroCopy
                ? buffer.nextLowLatencyCombineInput()
                : arena.allocate(DataType.BF16, table.localExperts(), slots, workload.hidden());
        inputs.outputs(x, table, workload.randomOutputs());
        LowLatencyCombineRequest.Builder request =
                LowLatencyCombineRequest.builder(x, handle).precision(precision);
        if (weights.atCombine()) {
            request.topkWeights(inputs.weights(rank));
        }
        if (params.has("logfmt")) {
            request.format(WireFormat.LOGFMT10);
        }
        if (hook) {
            request.receiveHook();
        }
        if (statistics) {
            request.waitStats(arena.allocate(DataType.INT64, workload.ranks()));
        }
        target.ifPresent(request::out);
        return buffer(LateInputs.NONE).lowLatencyCombine(request.build());
    }

    void verify(CombineResult result) {
        verify(result, masked);
    }

    /** Compares a result with the oracle, where some ranks were masked after the dispatch. */
    void verify(CombineResult result, Set<Integer> without) {
        if (params.has("logfmt")) {
            verifier.combineLogFmt(result, oracle(without), workload, rank, precision);
        } else {
            verifier.combine(result, oracle(without), workload, rank, precision);
        }
        bits.update(arena.readRaw(result.out()));
    }

    /** Returns a digest of all combined rows so far. */
    String bits() {
        return Long.toHexString(bits.getValue());
    }
}
