package org.ep4j.cli.gpu;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpEvent;
import org.ep4j.EpException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.engine.gpu.GpuBufferFacts;

/**
 * The operations as they are measured: asynchronous, in the worst case, on one stream; halves are synchronous, so that each is
 * measured by itself. One thread. What a call allocates counts, so that calls of operations allocate nothing here.
 */
final class GpuOperations {
    private final EpBuffer buffer;
    private final EpBuffer waiting;
    private final GpuBufferFacts facts;
    private final EpDevice device;
    private final GpuInputs inputs;
    private final Tensor result;
    private final List<LowLatencyDispatchRequest> weighted;
    private final EpEvent done = EpEvent.completed();
    private final List<DispatchHandle> handles = new ArrayList<>();
    private final List<LowLatencyHandle> lowLatencyHandles = new ArrayList<>();
    private final List<LowLatencyDispatchResult> sentDispatches = new ArrayList<>();
    private final List<CombineResult> sentCombines = new ArrayList<>();
    private boolean combineInputsFilled;

    interface Measured {
        /** Does what comes before it in a round and does not count. */
        Call prepare(int round);
    }

    interface Call {
        EpEvent queue();
    }

    GpuOperations(EpBuffer buffer, EpDevice device, GpuInputs inputs, long stream) {
        this.waiting = buffer.withOptions(OpOptions.DEFAULT.onStream(stream));
        this.buffer = buffer.withOptions(waiting.options().asynchronous());
        this.facts = GpuBufferFacts.of(buffer)
                .orElseThrow(() -> new EpException("the buffer " + buffer + " is not in GPU memory"));
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
            case HT_DISPATCH_BF16, HT_DISPATCH_FP8, HT_DISPATCH_BY_EXPERT -> {
                List<DispatchRequest> requests = requests(operation);
                yield round -> () -> dispatch(requests, round).event();
            }
            case HT_DISPATCH_BF16_CACHED, HT_DISPATCH_FP8_CACHED -> cached(operation);
            case HT_COMBINE -> combine();
            case HT_COMBINE_BY_EXPERT -> combineByExpert(CombinePrecision.EXACT);
            case HT_COMBINE_BY_EXPERT_PARTIAL -> combineByExpert(CombinePrecision.RANK_PARTIAL);
            case LL_DISPATCH_BF16 -> dispatch(WireFormat.BF16);
            case LL_DISPATCH_FP8 -> dispatch(WireFormat.FP8);
            case LL_DISPATCH_SEND, LL_DISPATCH_RECEIVE -> dispatchHalf(operation);
            case LL_DISPATCH_POW2 -> dispatch(WireFormat.FP8_POW2);
            case LL_DISPATCH_UE8M0 -> dispatch(WireFormat.FP8_UE8M0);
            case LL_COMBINE -> combine(CombinePrecision.EXACT, WireFormat.BF16);
            case LL_COMBINE_SEND, LL_COMBINE_RECEIVE -> combineHalf(operation);
            case LL_COMBINE_PARTIAL -> combine(CombinePrecision.RANK_PARTIAL, WireFormat.BF16);
            case LL_COMBINE_LOG_FMT -> combine(CombinePrecision.EXACT, WireFormat.LOGFMT10);
            case LL_BOTH -> both(CombinePrecision.EXACT);
            case LL_BOTH_PARTIAL -> both(CombinePrecision.RANK_PARTIAL);
        };
    }

    /**
     * Receives what was only sent since the last call, which is collective, and closes the handles of what was queued; their memory is
     * used again once that is done.
     */
    void release() {
        sentDispatches.forEach(LowLatencyDispatchResult::receive);
        sentDispatches.clear();
        sentCombines.forEach(CombineResult::receive);
        sentCombines.clear();
        handles.forEach(DispatchHandle::close);
        handles.clear();
        lowLatencyHandles.forEach(LowLatencyHandle::close);
        lowLatencyHandles.clear();
    }

    /** Returns whether an operation is queued and not done. Safe for use from several threads. */
    boolean isBusy() {
        return !facts.isIdle();
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
                .layout(operation.layout())
                .worstCase()
                .build());
    }

    private DispatchResult dispatch(List<DispatchRequest> requests, int round) {
        DispatchResult dispatched = buffer.dispatch(requests.get(round % GpuInputs.SETS));
        handles.add(dispatched.handle());
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

    /** A combine of the rows of the dispatch, which lie outside the memory that peers reach, as outputs of experts do. */
    private Measured combineByExpert(CombinePrecision precision) {
        List<DispatchRequest> requests = requests(GpuOperation.HT_DISPATCH_BY_EXPERT);
        return round -> {
            DispatchResult from = dispatch(requests, round);
            CombineRequest request = CombineRequest.builder(from.x(), from.handle())
                    .precision(precision)
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
            lowLatencyHandles.add(dispatched.handle());
            return dispatched.event();
        };
    }

    /** Half of an FP8 dispatch; what the other half takes does not count. */
    private Measured dispatchHalf(GpuOperation half) {
        List<LowLatencyDispatchRequest> requests = requests(set -> LowLatencyDispatchRequest.builder(set.x(), set.ids())
                .format(WireFormat.FP8)
                .receiveHook()
                .build());
        return round -> {
            LowLatencyDispatchRequest request = requests.get(round % GpuInputs.SETS);
            if (half.isReceivingHalf()) {
                LowLatencyDispatchResult sent = send(request);
                return () -> {
                    sent.receive();
                    return done;
                };
            }
            return () -> {
                sentDispatches.add(send(request));
                return done;
            };
        };
    }

    private LowLatencyDispatchResult send(LowLatencyDispatchRequest request) {
        LowLatencyDispatchResult sent = waiting.lowLatencyDispatch(request);
        lowLatencyHandles.add(sent.handle());
        return sent;
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
        lowLatencyHandles.add(handle);
        return handle;
    }

    private LowLatencyCombineRequest.Builder combineOf(
            int round, Tensor input, LowLatencyHandle handle, CombinePrecision precision, WireFormat format) {
        LowLatencyCombineRequest.Builder builder = LowLatencyCombineRequest.builder(input, handle)
                .precision(precision)
                .format(format)
                .out(result);
        if (precision == CombinePrecision.EXACT) {
            builder.topkWeights(inputs.get(round).weights());
        }
        return builder;
    }

    /** Dispatch and combine, one behind the other; the combine's request needs the handle of the dispatch. */
    private Measured both(CombinePrecision precision) {
        return round -> {
            Tensor input = buffer.nextLowLatencyCombineInput();
            return () -> buffer.lowLatencyCombine(combineOf(round, input, handle(round), precision, WireFormat.BF16)
                            .build())
                    .event();
        };
    }

    /** A combine; the dispatch before it does not count. */
    private Measured combine(CombinePrecision precision, WireFormat format) {
        return round -> {
            Tensor input = buffer.nextLowLatencyCombineInput();
            LowLatencyCombineRequest request =
                    combineOf(round, input, handle(round), precision, format).build();
            return () -> buffer.lowLatencyCombine(request).event();
        };
    }

    /** Half of an exact combine; the dispatch before it, and the other half, do not count. */
    private Measured combineHalf(GpuOperation half) {
        return round -> {
            Tensor input = buffer.nextLowLatencyCombineInput();
            LowLatencyCombineRequest request = combineOf(
                            round, input, handle(round), CombinePrecision.EXACT, WireFormat.BF16)
                    .receiveHook()
                    .build();
            if (half.isReceivingHalf()) {
                CombineResult sent = waiting.lowLatencyCombine(request);
                return () -> {
                    sent.receive();
                    return done;
                };
            }
            return () -> {
                sentCombines.add(waiting.lowLatencyCombine(request));
                return done;
            };
        };
    }
}
