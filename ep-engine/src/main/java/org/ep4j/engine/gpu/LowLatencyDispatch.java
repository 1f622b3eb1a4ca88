package org.ep4j.engine.gpu;

import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.EpEvent;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.LowLatencyFormat;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.LocalLayout.LowLatency;
import org.ep4j.engine.sync.Receipt;

/**
 * One low-latency dispatch: a kernel that encodes every token and sends it once to each rank that needs it, and one that
 * receives and writes rows to the packed rows of their experts. See {@code ll_dispatch.cu}.
 */
final class LowLatencyDispatch {
    private static final int WEIGHTS_FLAG = 1 << 8;

    private final org.ep4j.engine.gpu.LowLatency mode;
    private final GpuState state;
    private final EpShape shape;
    private final LowLatencyDispatchRequest request;
    private final LowLatencyFormat format;
    private final int tokens;

    private long call;

    /** Checks all that can be checked without reading device contents. */
    LowLatencyDispatch(org.ep4j.engine.gpu.LowLatency mode, LowLatencyDispatchRequest request) {
        this.mode = mode;
        this.state = mode.state();
        this.shape = state.shape();
        this.request = request;
        this.format = new LowLatencyFormat(request.format(), shape);
        RequestChecks checks = state.checks();
        tokens = checks.lowLatencyDispatch(request);
        checks.ids(request.topkIds(), tokens);
    }

    /** Queues it, with the hook its first half. */
    LowLatencyDispatchResult run(Queue queue, EpEvent event) {
        call = mode.dispatches().begin();
        HandlePool.HandleMemory memory = mode.handles().take();
        boolean weighted = request.topkWeights().isPresent();
        LowLatencyHandleImpl handle = new LowLatencyHandleImpl(mode, memory, tokens, weighted);
        handle.usedBy(queue);
        if (request.hook()) {
            handle.beginPending();
        }
        LowLatencyPieces pieces = LowLatencyPieces.of(state);
        queue.launchOverlapping(
                "ll_dispatch_send",
                // One more for what is said of all tokens where that is posted.
                pieces.sendBlocks(state.remotes() ? tokens + 1 : tokens),
                pieces.sendThreads(),
                pieces.sendBytes(),
                arguments(queue, handle));
        Receipt receipt = new Receipt(request.hook());
        if (!request.hook()) {
            receive(queue, handle);
        }
        return new LowLatencyResults.Dispatch(this, mode.dispatches(), call, handle, event, receipt);
    }

    /** Its first half has failed. */
    void abandon() {
        mode.dispatches().abandon(call);
    }

    /** The receiving half of the hook. Returns when it is done. */
    void receiveLater(LowLatencyHandleImpl handle, Receipt receipt) {
        mode.receiveLater(request, request.options(), receipt, mode.dispatches(), call, queue -> {
            try {
                receive(queue, handle);
            } finally {
                handle.endPending();
            }
        });
    }

    private void receive(Queue queue, LowLatencyHandleImpl handle) {
        LowLatencyPieces pieces = LowLatencyPieces.of(state);
        queue.launchReceiving(
                "ll_dispatch_receive",
                state.lowLatencyProcessors(),
                LowLatencyPieces.RECEIVE_THREADS,
                pieces.receiveBytes(),
                arguments(queue, handle),
                request.x(),
                rowTensor((int) (call & 1)));
        mode.dispatches().received(call);
        handle.received();
    }

    private Arguments arguments(Queue queue, LowLatencyHandleImpl handle) {
        int bank = (int) (call & 1);
        Arguments arguments = queue.arguments()
                .set(Param.FLAGS, format.code() | (handle.weighted() ? WEIGHTS_FLAG : 0))
                .set(Param.FORMAT, format.code())
                .set(Param.TOKENS, tokens)
                .set(Param.BANK, bank)
                .set(Param.X, request.x().address())
                .set(Param.IDS, request.topkIds().address())
                .set(Param.WIDE_IDS, request.topkIds().type() == DataType.INT64)
                .set(Param.HANDLE, handle.memory().address())
                .set(Param.OUT, rowTensor(bank).address())
                .set(Param.SOURCE_TOKENS, state.address(bank, LowLatency.SOURCE_TOKENS))
                .set(Param.LL_COUNTS, state.address(bank, LowLatency.COUNTS))
                .set(Param.RANGES, state.address(bank, LowLatency.RANGES));
        scaleTensor(bank).ifPresent(scales -> arguments.set(Param.OUT_SCALES, scales.address()));
        request.topkWeights().ifPresent(w -> arguments.set(Param.WEIGHTS, w.address()));
        request.cumulativeStats().ifPresent(s -> arguments.set(Param.STATISTICS, s.address()));
        request.waitStats().ifPresent(s -> arguments.set(Param.WAIT_STATISTICS, s.address()));
        return arguments;
    }

    /** The packed rows of a bank or the caller's tensor. */
    Tensor rowTensor(int bank) {
        return request.out().orElseGet(() -> tensor(bank, LowLatency.ROWS, format.rowType(), rows(), shape.hidden()));
    }

    /** The scales of a bank or the caller's tensor. */
    Optional<Tensor> scaleTensor(int bank) {
        return format.fp8()
                ? Optional.of(request.outScales()
                        .orElseGet(
                                () -> tensor(bank, LowLatency.SCALES, format.scaleType(), rows(), format.scaleCount())))
                : Optional.empty();
    }

    /** A result of a bank: one entry for each local expert, of {@code dims}. */
    Tensor tensor(int bank, LocalLayout.LowLatency region, DataType type, long... dims) {
        long[] all = new long[dims.length + 1];
        all[0] = state.localExperts();
        System.arraycopy(dims, 0, all, 1, dims.length);
        return state.tensor(bank, region, type, all);
    }

    /** Rows of an expert. */
    long rows() {
        return shape.lowLatencyRows(state.ranks());
    }

    int ranks() {
        return state.ranks();
    }
}
