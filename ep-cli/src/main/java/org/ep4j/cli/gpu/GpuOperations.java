package org.ep4j.cli.gpu;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchRequest.WireFormat;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.cli.rank.WorkSpec.Mode;

/** The operations as they are measured: asynchronous, in the worst case, on one stream. One thread. */
final class GpuOperations {
    private final EpBuffer buffer;
    private final EpDevice device;
    private final GpuInputs inputs;
    private final OpOptions options;
    private final Tensor result;
    private final List<Runnable> handles = new ArrayList<>();
    private boolean combineInputsFilled;

    interface Measured {
        /** Does what comes before it in a round and does not count. */
        Call prepare(int round);
    }

    interface Call {
        EpEvent queue();
    }

    GpuOperations(EpBuffer buffer, EpDevice device, GpuInputs inputs, long stream) {
        this.buffer = buffer;
        this.device = device;
        this.inputs = inputs;
        this.options = new OpOptions(List.of(), true, stream, Optional.empty());
        this.result = inputs.result();
    }

    /** An operation; collective, since some need others first. */
    Measured of(GpuOperation operation) {
        if (operation.mode() == Mode.LL && operation.traffic() != GpuOperation.Traffic.TO_RANKS) {
            fillCombineInputs();
        }
        return switch (operation) {
            case HT_DISPATCH_BF16, HT_DISPATCH_FP8 ->
                round -> () -> dispatch(operation, round).event();
            case HT_DISPATCH_BF16_CACHED, HT_DISPATCH_FP8_CACHED -> cached(operation);
            case HT_COMBINE -> combine();
            case LL_DISPATCH_BF16 -> dispatch(WireFormat.BF16);
            case LL_DISPATCH_FP8 -> dispatch(WireFormat.FP8);
            case LL_DISPATCH_POW2 -> dispatch(WireFormat.FP8_POW2);
            case LL_DISPATCH_UE8M0 -> dispatch(WireFormat.FP8_UE8M0);
            case LL_COMBINE -> combine(CombinePrecision.EXACT, false);
            case LL_COMBINE_PARTIAL -> combine(CombinePrecision.RANK_PARTIAL, false);
            case LL_COMBINE_LOG_FMT -> combine(CombinePrecision.EXACT, true);
            case LL_BOTH -> both(CombinePrecision.EXACT);
            case LL_BOTH_PARTIAL -> both(CombinePrecision.RANK_PARTIAL);
        };
    }

    /** Closes the handles of what was queued since the last call; their memory is used again once that is done. */
    void release() {
        handles.forEach(Runnable::run);
        handles.clear();
    }

    private DispatchResult dispatch(GpuOperation operation, int round) {
        DispatchResult dispatched = dispatchAndKeep(operation, round);
        handles.add(dispatched.handle()::close);
        return dispatched;
    }

    private DispatchResult dispatchAndKeep(GpuOperation operation, int round) {
        GpuInputs.Set set = inputs.get(round);
        DispatchRequest.Builder builder = operation.rows() == GpuOperation.Rows.FP8
                ? DispatchRequest.of(set.fp8(), set.ids()).scales(set.scales())
                : DispatchRequest.of(set.x(), set.ids());
        return buffer.dispatch(
                builder.topkWeights(set.weights()).worstCase().options(options).build());
    }

    private Measured cached(GpuOperation operation) {
        List<DispatchHandle> routings = new ArrayList<>();
        for (int i = 0; i < GpuInputs.SETS; i++) {
            routings.add(dispatchAndKeep(operation, i).handle());
        }
        return round -> () -> {
            GpuInputs.Set set = inputs.get(round);
            DispatchHandle handle = routings.get(round % GpuInputs.SETS);
            DispatchRequest.Builder builder = operation.rows() == GpuOperation.Rows.FP8
                    ? DispatchRequest.cached(set.fp8(), handle).scales(set.scales())
                    : DispatchRequest.cached(set.x(), handle);
            return buffer.dispatch(builder.topkWeights(set.weights())
                            .worstCase()
                            .options(options)
                            .build())
                    .event();
        };
    }

    private Measured combine() {
        Tensor input = buffer.combineInput();
        GpuInputs.fill(device, input.memory(), new SplittableRandom(11L));
        return round -> {
            DispatchResult from = dispatch(GpuOperation.HT_DISPATCH_BF16, round);
            return () -> {
                Tensor rows = Tensor.of(
                        input.memory().slice(0, from.rows() * input.dim(1) * 2),
                        input.type(),
                        from.rows(),
                        input.dim(1));
                return buffer.combine(CombineRequest.of(rows, from.handle())
                                .out(result)
                                .options(options)
                                .build())
                        .event();
            };
        };
    }

    private Measured dispatch(WireFormat format) {
        return round -> () -> {
            GpuInputs.Set set = inputs.get(round);
            LowLatencyDispatchResult dispatched = buffer.dispatch(LowLatencyDispatchRequest.of(set.x(), set.ids())
                    .format(format)
                    .options(options)
                    .build());
            handles.add(dispatched.handle()::close);
            return dispatched.event();
        };
    }

    /** Experts' outputs in both of the regions that combines take in turn. */
    private void fillCombineInputs() {
        if (combineInputsFilled) {
            return;
        }
        combineInputsFilled = true;
        SplittableRandom random = new SplittableRandom(13);
        for (int i = 0; i < 2; i++) {
            GpuInputs.fill(device, buffer.lowLatencyCombineInput().memory(), random);
            EpEvent combined = both(CombinePrecision.EXACT).prepare(0).queue();
            combined.await(java.time.Duration.ofMinutes(1));
        }
    }

    private LowLatencyHandle handle(int round) {
        GpuInputs.Set set = inputs.get(round);
        LowLatencyHandle handle = buffer.dispatch(LowLatencyDispatchRequest.of(set.x(), set.ids())
                        .topkWeights(set.weights())
                        .format(WireFormat.FP8)
                        .options(options)
                        .build())
                .handle();
        handles.add(handle::close);
        return handle;
    }

    private EpEvent combine(int round, LowLatencyHandle handle, CombinePrecision precision, boolean logFmt) {
        LowLatencyCombineRequest.Builder builder = LowLatencyCombineRequest.of(buffer.lowLatencyCombineInput(), handle)
                .precision(precision)
                .out(result)
                .options(options);
        if (precision == CombinePrecision.EXACT) {
            builder.topkWeights(inputs.get(round).weights());
        }
        if (logFmt) {
            builder.logFmt();
        }
        return buffer.combine(builder.build()).event();
    }

    /** Dispatch and combine, one behind the other. */
    private Measured both(CombinePrecision precision) {
        return round -> () -> combine(round, handle(round), precision, false);
    }

    /** A combine; the dispatch before it does not count. */
    private Measured combine(CombinePrecision precision, boolean logFmt) {
        return round -> {
            LowLatencyHandle handle = handle(round);
            return () -> combine(round, handle, precision, logFmt);
        };
    }
}
