package org.ep4j.tck.rules;

import java.util.Arrays;
import java.util.Set;
import java.util.zip.CRC32C;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.SlotTable;
import org.ep4j.tck.oracle.Workload;

/** One low-latency exchange of one rank, every result compared with the oracle. */
final class LowLatencyExchange extends Exchange {
    private static final int COUNTED_BEFORE = 1000;

    private final LowLatencyOptions options;
    final SlotTable table;
    private final long slots;
    private final CRC32C bits = new CRC32C();

    LowLatencyExchange(RankContext context, EpBuffer buffer, Workload workload, LowLatencyOptions options) {
        this(context, buffer, workload, options, Set.of());
    }

    LowLatencyExchange(
            RankContext context, EpBuffer buffer, Workload workload, LowLatencyOptions options, Set<Integer> masked) {
        super(context, buffer, workload, masked, options.async(), options.stream());
        this.options = options;
        this.table = SlotTable.of(workload, rank, masked);
        this.slots = table.capacity(buffer.shape());
    }

    /** A whole round: dispatch and combine, everything compared; the handle is closed. */
    void round() {
        LowLatencyDispatchResult result = dispatch();
        verify(result);
        CombineResult combined = combine(result.handle(), outputs());
        result.handle().close();
        verify(combined);
    }

    OutputRows outputs() {
        return workload.randomOutputs();
    }

    /** Sends, receives, waits. */
    LowLatencyDispatchResult dispatch() {
        Tensor counted = cumulative();
        Tensor waited = arena.allocate(DataType.INT64, workload.ranks());
        LowLatencyDispatchResult result = send(counted, waited);
        if (options.hook()) {
            result.receive();
        }
        if (options.async()) {
            result.event().await(Checks.patience());
        }
        if (options.statistics()) {
            checkStatistics(counted, waited);
        }
        return result;
    }

    /** Sends; receiving, with the hook, is left to the caller. */
    LowLatencyDispatchResult send() {
        return send(cumulative(), arena.allocate(DataType.INT64, workload.ranks()));
    }

    private LowLatencyDispatchResult send(Tensor counted, Tensor waited) {
        Tensor ids = inputs.ids(rank, options.idType());
        Tensor x = inputs.rows(rank);
        LateInputs late = new LateInputs(arena, options.after(), ids, x);
        LowLatencyDispatchRequest.Builder request =
                LowLatencyDispatchRequest.builder(x, ids).format(options.format());
        if (options.weightsAtDispatch()) {
            request.topkWeights(inputs.weights(rank));
        }
        if (options.hook()) {
            request.receiveHook();
        }
        if (options.statistics()) {
            request.expertStats(counted).waitStats(waited);
        }
        return withOut(request, late);
    }

    private Tensor cumulative() {
        int[] before = new int[table.localExperts()];
        Arrays.fill(before, COUNTED_BEFORE);
        return arena.ints(before, before.length);
    }

    private void checkStatistics(Tensor counted, Tensor waited) {
        int[] seen = arena.device().ints(counted);
        for (int e = 0; e < seen.length; e++) {
            Checks.equal("expertStats[" + e + "]", seen[e], COUNTED_BEFORE + table.count(e));
        }
        for (long nanos : arena.device().longs(waited)) {
            Checks.that(nanos >= 0 && nanos < Checks.patience().toNanos(), "waitStats holds " + nanos + " ns");
        }
    }

    private LowLatencyDispatchResult withOut(LowLatencyDispatchRequest.Builder request, LateInputs late) {
        if (!options.out()) {
            return buffer(late).lowLatencyDispatch(request.build());
        }
        boolean fp8 = options.format() != WireFormat.BF16;
        boolean bytes = options.format() == WireFormat.FP8_UE8M0;
        int local = table.localExperts();
        Tensor out = arena.allocate(fp8 ? DataType.FP8_E4M3 : DataType.BF16, local, slots, workload.hidden());
        if (fp8) {
            request.outScales(arena.allocate(
                    bytes ? DataType.UE8M0 : DataType.FP32,
                    local,
                    slots,
                    bytes ? (workload.scales() + 3) / 4 * 4 : workload.scales()));
        }
        LowLatencyDispatchResult result =
                buffer(late).lowLatencyDispatch(request.out(out).build());
        if (!options.hook()) {
            Checks.equal("address of x in a dispatch with out()", result.x().address(), out.address());
        }
        return result;
    }

    void verify(LowLatencyDispatchResult result) {
        verifier.dispatch(result, table, options.format(), slots);
    }

    /** Sends back, receives, waits. */
    CombineResult combine(LowLatencyHandle handle, OutputRows outputs) {
        Tensor out = arena.allocate(DataType.BF16, workload.tokens(rank), workload.hidden());
        CombineResult result = sendBack(handle, outputs, out);
        if (options.hook()) {
            result.receive();
        }
        if (options.async()) {
            result.event().await(Checks.patience());
        }
        if (options.out()) {
            Checks.equal(
                    "address of the rows of a combine with out()", result.out().address(), out.address());
        }
        return result;
    }

    /** Sends back; receiving, with the hook, is left to the caller. */
    CombineResult sendBack(LowLatencyHandle handle, OutputRows outputs) {
        return sendBack(handle, outputs, arena.allocate(DataType.BF16, workload.tokens(rank), workload.hidden()));
    }

    private CombineResult sendBack(LowLatencyHandle handle, OutputRows outputs, Tensor out) {
        Tensor x = options.zeroCopy()
                ? buffer.nextLowLatencyCombineInput()
                : arena.allocate(DataType.BF16, table.localExperts(), slots, workload.hidden());
        inputs.outputs(x, table, outputs);
        LowLatencyCombineRequest.Builder request =
                LowLatencyCombineRequest.builder(x, handle).precision(options.precision());
        if (options.weightsAtCombine()) {
            request.topkWeights(inputs.weights(rank));
        }
        if (options.logFmt()) {
            request.format(WireFormat.LOGFMT10);
        }
        if (options.hook()) {
            request.receiveHook();
        }
        if (options.statistics()) {
            request.waitStats(arena.allocate(DataType.INT64, workload.ranks()));
        }
        if (options.out()) {
            request.out(out);
        }
        return buffer(LateInputs.NONE).lowLatencyCombine(request.build());
    }

    void verify(CombineResult result) {
        verify(result, outputs());
    }

    void verify(CombineResult result, OutputRows outputs) {
        CombineOracle oracle = new CombineOracle(workload, outputs, masked);
        if (options.logFmt()) {
            verifier.combineLogFmt(result, oracle, workload, rank, options.precision());
        } else {
            verifier.combine(result, oracle, workload, rank, options.precision());
        }
        bits.update(arena.readRaw(result.out()));
    }

    /** A digest of every combined row so far. */
    String bits() {
        return Long.toHexString(bits.getValue());
    }
}
