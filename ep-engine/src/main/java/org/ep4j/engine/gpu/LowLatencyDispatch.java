package org.ep4j.engine.gpu;

import java.util.Objects;
import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.LowLatencyFormat;
import org.ep4j.engine.buffer.LowLatencyResults;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.gpu.LowLatency.Handle;
import org.ep4j.engine.gpu.Operations.FirstHalf;
import org.ep4j.engine.gpu.Operations.Queue;
import org.ep4j.engine.layout.LocalLayout.LowLatency;
import org.ep4j.engine.layout.LocalLayout.Part;
import org.ep4j.engine.sync.ReceiveHook;
import org.jspecify.annotations.Nullable;

/**
 * One low-latency dispatch: a kernel that encodes every token and sends it once to each rank that needs it, and one that
 * receives and writes rows to the packed rows of their experts. See {@code ll_dispatch_send.cu}.
 */
final class LowLatencyDispatch implements LowLatencyResults.DispatchSource {
    private static final int WEIGHTS_FLAG = 1 << 8;

    private final org.ep4j.engine.gpu.LowLatency mode;
    private final GpuState state;
    private final LowLatencyDispatchRequest request;
    private final OpOptions options;
    private final LowLatencyFormat format;
    private final int tokens;

    private long call;
    /** Absent until the dispatch is queued. */
    private @Nullable Handle handle;

    /** Absent until the dispatch is queued; without the hook it may be absent then, too. */
    private @Nullable FirstHalf sent;

    /** Checks everything that does not depend on device contents. */
    LowLatencyDispatch(org.ep4j.engine.gpu.LowLatency mode, LowLatencyDispatchRequest request, OpOptions options) {
        this.mode = mode;
        this.state = mode.state;
        this.request = request;
        this.options = options;
        this.format = new LowLatencyFormat(request.format(), state.shape());
        RequestChecks checks = state.checks();
        tokens = checks.lowLatencyDispatch(request);
        checks.ids(request.topkIds(), tokens);
    }

    @Override
    public long number() {
        return call;
    }

    @Override
    public Handle handle() {
        return Objects.requireNonNull(handle);
    }

    /** Queues the operation; with the hook, only its first half. */
    LowLatencyDispatchResult run(Queue queue, EpEvent event) {
        takeMemory();
        call = mode.dispatches.begin();
        HandlePool.HandleMemory memory = mode.handles.take();
        boolean weighted = request.topkWeights().isPresent();
        Handle made = new Handle(mode, memory, tokens, weighted);
        made.usedBy(queue);
        if (request.receiveHook()) {
            made.retain();
        }
        handle = made;
        if (request.receiveHook() || queue.isCapturing()) {
            sent = mode.sent(queue, mode.dispatches, call);
        }
        LowLatencyLaunch launch = LowLatencyLaunch.of(state, queue.lowLatencyBlocks());
        queue.launchOverlapping(
                "ll_dispatch_send",
                // One more block for counts and announcement if these are posted.
                launch.sendBlocks(state.remotes() ? tokens + 1 : tokens),
                launch.sendThreads(),
                launch.sendBytes(),
                arguments(queue));
        if (!request.receiveHook()) {
            receive(queue);
        }
        return new LowLatencyResults.Dispatch(
                this,
                mode.dispatches.validity(),
                state,
                request,
                format,
                new ReceiveHook(request.receiveHook()),
                event);
    }

    /** Takes memory for results that the caller gives no tensors for, before the operation has a number. */
    private void takeMemory() {
        LocalMemory results = state.results();
        if (request.outRowsPerExpert().isEmpty()
                || request.outSourceTokens().isEmpty()
                || request.outLayoutRanges().isEmpty()) {
            results.take(Part.LL_RECORDS);
        }
        if (request.out().isEmpty()) {
            results.take(Part.LL_ROWS);
        }
        if (format.fp8() && request.outScales().isEmpty()) {
            results.take(Part.LL_SCALES);
        }
    }

    /** Ends an operation whose first half has failed. */
    void abandon() {
        mode.dispatches.abandon(call);
    }

    @Override
    public boolean isPending() {
        return mode.isPending(mode.dispatches, call);
    }

    @Override
    public EpEvent receive() {
        return mode.receiveLater(
                request, options, Objects.requireNonNull(sent), mode.dispatches, call, handle(), this::receive);
    }

    private void receive(Queue queue) {
        mode.dispatches.end(call);
        String kernel = "ll_dispatch_receive";
        int blocks = queue.lowLatencyBlocks();
        int bytes = LowLatencyLaunch.of(state, blocks).receiveBytes();
        if (request.receiveHook()) {
            queue.launch(kernel, blocks, LowLatencyLaunch.RECEIVE_THREADS, bytes, arguments(queue));
        } else {
            queue.launchReceiving(
                    kernel,
                    blocks,
                    LowLatencyLaunch.RECEIVE_THREADS,
                    bytes,
                    arguments(queue),
                    request.x(),
                    format.rowTensor(request, state, call));
        }
        handle().received();
    }

    private Arguments arguments(Queue queue) {
        Arguments arguments = queue.arguments()
                .set(Param.FLAGS, format.code() | (handle().weighted() ? WEIGHTS_FLAG : 0))
                .set(Param.FORMAT, format.code())
                .set(Param.TOKENS, tokens)
                .set(Param.BANK, call & 1)
                .set(Param.X, request.x().address())
                .set(Param.IDS, request.topkIds().address())
                .set(Param.WIDE_IDS, request.topkIds().type() == DataType.INT64)
                .set(Param.HANDLE, handle().routing().address())
                .set(Param.OUT, format.rowTensor(request, state, call).address())
                .set(Param.SOURCE_TOKENS, address(request.outSourceTokens(), LowLatency.SOURCE_TOKENS))
                .set(Param.LL_COUNTS, address(request.outRowsPerExpert(), LowLatency.COUNTS))
                .set(Param.RANGES, address(request.outLayoutRanges(), LowLatency.RANGES));
        format.scaleTensor(request, state, call).ifPresent(scales -> arguments.set(Param.OUT_SCALES, scales.address()));
        request.topkWeights().ifPresent(w -> arguments.set(Param.WEIGHTS, w.address()));
        request.expertStats().ifPresent(s -> arguments.set(Param.STATISTICS, s.address()));
        request.waitStats().ifPresent(s -> arguments.set(Param.WAIT_STATISTICS, s.address()));
        return arguments;
    }

    /** Address of a result in the caller's tensor, or in the bank of the operation. */
    private long address(Optional<Tensor> given, LowLatency region) {
        return given.isPresent() ? given.get().address() : state.address(call, region);
    }
}
