package org.ep4j.engine.gpu;

import java.util.Objects;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.engine.buffer.EngineHandle;
import org.ep4j.engine.buffer.LowLatencyResults;
import org.ep4j.engine.gpu.LowLatency.Handle;
import org.ep4j.engine.gpu.Operations.FirstHalf;
import org.ep4j.engine.gpu.Operations.Queue;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.sync.ReceiveHook;
import org.jspecify.annotations.Nullable;

/**
 * One low-latency combine: a kernel that sends the row of every selection, or one sum for each (token, rank), to the
 * token's rank, and one that sums them there. See {@code ll_combine_begin.cu}.
 */
final class LowLatencyCombine implements LowLatencyResults.CombineSource {
    private static final int PARTIAL_FLAG = 1;
    private static final int LOG_FMT_FLAG = 2;

    private final LowLatency mode;
    private final GpuState state;
    private final LowLatencyCombineRequest request;
    private final OpOptions options;
    private final Handle handle;
    private final boolean partial;
    private final boolean logFmt;

    private long call;

    /** Absent until the combine is queued; without the hook it may be absent then, too. */
    private @Nullable FirstHalf sent;

    LowLatencyCombine(LowLatency mode, LowLatencyCombineRequest request, OpOptions options) {
        this.mode = mode;
        this.state = mode.state;
        this.request = request;
        this.options = options;
        handle = EngineHandle.own(request.handle(), Handle.class, mode);
        state.checks().lowLatencyCombine(request, handle.tokens(), handle.weighted());
        partial = request.precision() != CombinePrecision.EXACT;
        logFmt = request.format() == WireFormat.LOGFMT10;
    }

    @Override
    public long number() {
        return call;
    }

    /** Queues the operation; with the hook, only its first half. */
    CombineResult run(Queue queue, EpEvent event) {
        handle.requireReceived();
        if (request.out().isEmpty()) {
            state.results().take(LocalLayout.Part.LL_COMBINED);
        }
        handle.usedBy(queue);
        call = mode.combines.begin();
        if (request.receiveHook()) {
            handle.retain();
        }
        if (request.receiveHook() || queue.isCapturing()) {
            sent = mode.sent(queue, mode.combines, call);
        }
        send(queue);
        if (!request.receiveHook()) {
            receive(queue);
        }
        return new LowLatencyResults.Combine(
                this, mode.combines.validity(), new ReceiveHook(request.receiveHook()), event);
    }

    private void send(Queue queue) {
        int blocks = queue.lowLatencyBlocks();
        LowLatencyLaunch launch = LowLatencyLaunch.of(state, blocks);
        Arguments arguments = arguments(queue);
        if (logFmt) {
            queue.launchOverlapping(
                    "ll_combine_send_coded",
                    blocks,
                    LowLatencyLaunch.CODED_THREADS,
                    launch.codedSendBytes(),
                    arguments);
        } else if (partial) {
            queue.launchOverlapping("ll_combine_send_sums", blocks, launch.sumThreads(), launch.sumBytes(), arguments);
        } else {
            int ranks = state.ranks();
            arguments.set(Param.EXTRA, launch.rowPiece(ranks));
            queue.launchOverlapping(
                    "ll_combine_send_rows", blocks, launch.rowThreads(), launch.rowBytes(ranks), arguments);
        }
    }

    /** Ends an operation whose first half has failed. */
    void abandon() {
        mode.combines.abandon(call);
    }

    @Override
    public boolean isPending() {
        return mode.isPending(mode.combines, call);
    }

    @Override
    public EpEvent receive() {
        return mode.receiveLater(
                request, options, Objects.requireNonNull(sent), mode.combines, call, handle, this::receive);
    }

    private void receive(Queue queue) {
        mode.combines.end(call);
        String kernel = logFmt ? "ll_combine_receive_coded" : "ll_combine_receive";
        int blocks = queue.lowLatencyBlocks();
        int threads = logFmt ? LowLatencyLaunch.CODED_THREADS : LowLatencyLaunch.COMBINE_THREADS;
        int bytes = logFmt ? LowLatencyLaunch.of(state, blocks).codedReceiveBytes() : 0;
        if (request.receiveHook()) {
            queue.launch(kernel, blocks, threads, bytes, arguments(queue));
        } else {
            queue.launchReceiving(kernel, blocks, threads, bytes, arguments(queue), request.x(), out());
        }
    }

    private Arguments arguments(Queue queue) {
        Arguments arguments = queue.arguments()
                .set(Param.FLAGS, (partial ? PARTIAL_FLAG : 0) | (logFmt ? LOG_FMT_FLAG : 0))
                .set(Param.PARTIAL, partial)
                .set(Param.LOG_FMT, logFmt)
                .set(Param.TOKENS, handle.tokens())
                .set(Param.BANK, call & 1)
                .set(Param.X, request.x().address())
                .set(Param.HANDLE, handle.routing().address())
                .set(Param.OUT, out().address());
        request.topkWeights().ifPresent(w -> arguments.set(Param.WEIGHTS, w.address()));
        request.waitStats().ifPresent(s -> arguments.set(Param.WAIT_STATISTICS, s.address()));
        return arguments;
    }

    @Override
    public Tensor out() {
        return request.out()
                .orElseGet(() -> state.tensor(
                        call,
                        LocalLayout.LowLatency.COMBINED,
                        DataType.BF16,
                        handle.tokens(),
                        state.shape().hidden()));
    }
}
