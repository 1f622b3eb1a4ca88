package org.ep4j.cli.gpu;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.cli.rank.ExchangeSpec.Mode;

/** The operations as they are measured: asynchronous, in the worst case, on one stream. One thread. */
final class GpuOperations {
    private final EpBuffer buffer;
    private final EpDevice device;
    private final GpuInputs inputs;
    private final Tensor result;
    private final List<LowLatencyDispatchRequest> weighted;
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
        this.buffer = buffer.withOptions(OpOptions.DEFAULT.onStream(stream).asynchronous());
        this.device = device;
        this.inputs = inputs;
        this.result = inputs.result();
        this.weighted = requests(set -> LowLatencyDispatchRequest.builder(set.x(), set.ids())
                .topkWeights(set.weights())
                .format(WireFormat.FP8)
                .build());
    }

    /** An operation; collective, since some need others first. */
    Measured of(GpuOperation operation) {
        if (operation.mode() == Mode.LL && operation.returned != GpuOperation.Rows.NONE) {
            fillCombineInputs();
        }
        return switch (operation) {
            case HT_DISPATCH_BF16, HT_DISPATCH_FP8 -> {
                List<DispatchRequest> requests = requests(operation);
                yield round -> () -> dispatch(requests, round).event();
            }
            case HT_DISPATCH_BF16_CACHED, HT_DISPATCH_FP8_CACHED -> cached(operation);
            case HT_COMBINE -> combine();
            case LL_DISPATCH_BF16 -> dispatch(WireFormat.BF16);
            case LL_DISPATCH_FP8 -> dispatch(WireFormat.FP8);
            case LL_DISPATCH_POW2 -> dispatch(WireFormat.FP8_POW2);
            case LL_DISPATCH_UE8M0 -> dispatch(WireFormat.FP8_UE8M0);
            case LL_COMBINE -> combine(CombinePrecision.EXACT, WireFormat.BF16);
            case LL_COMBINE_PARTIAL -> combine(CombinePrecision.RANK_PARTIAL, WireFormat.BF16);
            case LL_COMBINE_LOG_FMT -> combine(CombinePrecision.EXACT, WireFormat.LOGFMT10);
            case LL_BOTH -> both(CombinePrecision.EXACT);
            case LL_BOTH_PARTIAL -> both(CombinePrecision.RANK_PARTIAL);
        };
    }

    /** Closes the handles of what was queued since the last call; their memory is used again once that is done. */
    void release() {
        handles.forEach(Runnable::run);
        handles.clear();
    }

    /** A request for each set of inputs, made once. */
    private <R> List<R> requests(Function<GpuInputs.Set, R> request) {
        return IntStream.range(0, GpuInputs.SETS)
                .mapToObj(i -> request.apply(inputs.get(i)))
                .toList();
    }

    private List<DispatchRequest> requests(GpuOperation operation) {
        return requests(set -> (operation.sent == GpuOperation.Rows.FP8
                        ? DispatchRequest.builder(set.fp8(), set.ids()).scales(set.scales())
                        : DispatchRequest.builder(set.x(), set.ids()))
                .topkWeights(set.weights())
                .worstCase()
                .build());
    }

    private DispatchResult dispatch(List<DispatchRequest> requests, int round) {
        DispatchResult dispatched = buffer.dispatch(requests.get(round % GpuInputs.SETS));
        handles.add(dispatched.handle()::close);
        return dispatched;
    }

    private Measured cached(GpuOperation operation) {
        List<DispatchRequest> requests = new ArrayList<>();
        for (DispatchRequest first : requests(operation)) {
            DispatchRequest.Builder again =
                    DispatchRequest.builder(first.x(), buffer.dispatch(first).handle());
            first.scales().ifPresent(again::scales);
            first.topkWeights().ifPresent(again::topkWeights);
            requests.add(again.worstCase().build());
        }
        return round ->
                () -> buffer.dispatch(requests.get(round % GpuInputs.SETS)).event();
    }

    private Measured combine() {
        Tensor input = buffer.combineInput();
        GpuInputs.fill(device, input.memory(), new SplittableRandom(11L));
        List<DispatchRequest> requests = requests(GpuOperation.HT_DISPATCH_BF16);
        return round -> {
            DispatchResult from = dispatch(requests, round);
            CombineRequest request = CombineRequest.builder(input.rows(0, from.rows()), from.handle())
                    .out(result)
                    .build();
            return () -> buffer.combine(request).event();
        };
    }

    private Measured dispatch(WireFormat format) {
        List<LowLatencyDispatchRequest> requests = requests(set -> LowLatencyDispatchRequest.builder(set.x(), set.ids())
                .format(format)
                .build());
        return round -> () -> {
            LowLatencyDispatchResult dispatched = buffer.lowLatencyDispatch(requests.get(round % GpuInputs.SETS));
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
            GpuInputs.fill(device, buffer.nextLowLatencyCombineInput().memory(), random);
            EpEvent combined = both(CombinePrecision.EXACT).prepare(0).queue();
            combined.await(java.time.Duration.ofMinutes(1));
        }
    }

    private LowLatencyHandle handle(int round) {
        LowLatencyHandle handle =
                buffer.lowLatencyDispatch(weighted.get(round % GpuInputs.SETS)).handle();
        handles.add(handle::close);
        return handle;
    }

    private LowLatencyCombineRequest combineOf(
            int round, Tensor input, LowLatencyHandle handle, CombinePrecision precision, WireFormat format) {
        LowLatencyCombineRequest.Builder builder = LowLatencyCombineRequest.builder(input, handle)
                .precision(precision)
                .format(format)
                .out(result);
        if (precision == CombinePrecision.EXACT) {
            builder.topkWeights(inputs.get(round).weights());
        }
        return builder.build();
    }

    /** Dispatch and combine, one behind the other; the combine's request needs the handle of the dispatch. */
    private Measured both(CombinePrecision precision) {
        return round -> {
            Tensor input = buffer.nextLowLatencyCombineInput();
            return () -> buffer.lowLatencyCombine(combineOf(round, input, handle(round), precision, WireFormat.BF16))
                    .event();
        };
    }

    /** A combine; the dispatch before it does not count. */
    private Measured combine(CombinePrecision precision, WireFormat format) {
        return round -> {
            Tensor input = buffer.nextLowLatencyCombineInput();
            LowLatencyCombineRequest request = combineOf(round, input, handle(round), precision, format);
            return () -> buffer.lowLatencyCombine(request).event();
        };
    }
}
