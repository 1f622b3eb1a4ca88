package org.ep4j.engine.gpu;

import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEvent;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
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
        this.format = new LowLatencyFormat(request.format(), request.scaleLayout(), shape);
        RequestChecks checks = state.checks();
        tokens = checks.lowLatencyDispatch(request);
        checks.ids(request.topkIds(), tokens);
    }

    /** Queues it, with the hook its first half. */
    LowLatencyDispatchResult run(Queue queue, EpEvent event) {
        if (request.countsOnHost() && queue.isCapturing()) {
            throw new EpArgumentException(
                    "countsOnHost",
                    true,
                    "false while the stream records a graph",
                    "read counts() on the device: the host takes no part in a replay");
        }
        call = mode.dispatches().next();
        HandlePool.HandleMemory memory = mode.handles().take();
        boolean weighted = request.topkWeights().isPresent();
        LowLatencyHandleImpl handle = new LowLatencyHandleImpl(mode, memory, tokens, weighted);
        handle.usedBy(queue);
        // Takes the memory of all results before other ranks hear of the operation: a rank that lacks some fails alone.
        Arguments arguments = arguments(queue, handle);
        mode.dispatches().begin();
        LowLatencyPieces pieces = LowLatencyPieces.of(state, request.options());
        queue.launchOverlapping(
                "ll_dispatch_send",
                // One more for what is said of all tokens where that is posted.
                pieces.sendBlocks(state.remotes() ? tokens + 1 : tokens),
                pieces.sendThreads(),
                pieces.sendBytes(),
                arguments);
        Receipt receipt = new Receipt(request.hook());
        if (!request.hook()) {
            receive(queue, handle, request.options());
        }
        return new LowLatencyResults.Dispatch(this, mode.dispatches(), call, handle, event, receipt);
    }

    /** Its first half has failed. */
    void abandon() {
        mode.dispatches().abandon(call);
    }

    /** The receiving half of the hook. Returns when it is done, unless it is asynchronous. */
    EpEvent receiveLater(OpOptions how, LowLatencyHandleImpl handle, Receipt receipt) {
        return mode.receiveLater(request, how, receipt, mode.dispatches(), call, queue -> {
            handle.usedBy(queue);
            receive(queue, handle, how);
        });
    }

    OpOptions options() {
        return request.options();
    }

    private void receive(Queue queue, LowLatencyHandleImpl handle, OpOptions how) {
        LowLatencyPieces pieces = LowLatencyPieces.of(state, how);
        queue.launchReceiving(
                "ll_dispatch_receive",
                state.lowLatencyProcessors(how),
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
                .set(Param.SOURCE_TOKENS, address(request.outSourceTokens(), bank, LowLatency.SOURCE_TOKENS))
                .set(Param.LL_COUNTS, address(request.outCounts(), bank, LowLatency.COUNTS))
                .set(Param.RANGES, address(request.outLayoutRanges(), bank, LowLatency.RANGES));
        if (request.countsOnHost()) {
            arguments.set(Param.COUNTS, handle.memory().countsAddress());
        }
        scaleTensor(bank)
                .ifPresent(scales -> arguments
                        .set(Param.OUT_SCALES, scales.address())
                        .set(Param.SCALE_WORDS, format.scales().words())
                        .set(Param.SCALE_STRIDE, format.scales().stride(rows())));
        request.topkWeights().ifPresent(w -> arguments.set(Param.WEIGHTS, w.address()));
        request.cumulativeStats().ifPresent(s -> arguments.set(Param.STATISTICS, s.address()));
        request.waitStats().ifPresent(s -> arguments.set(Param.WAIT_STATISTICS, s.address()));
        return arguments;
    }

    /** The address of a tensor of the caller, or else of the buffer. */
    private long address(Optional<Tensor> own, int bank, LowLatency region) {
        return own.map(Tensor::address).orElseGet(() -> state.address(bank, region));
    }

    /** Rows of each local expert. */
    Tensor countTensor(int bank) {
        return request.outCounts().orElseGet(() -> tensor(bank, LowLatency.COUNTS, DataType.INT32));
    }

    /** Token of each row on its source rank. */
    Tensor sourceTokenTensor(int bank) {
        return request.outSourceTokens()
                .orElseGet(() -> tensor(bank, LowLatency.SOURCE_TOKENS, DataType.INT32, rows()));
    }

    /** Rows of each source rank inside an expert. */
    Tensor rangeTensor(int bank) {
        return request.outLayoutRanges()
                .orElseGet(() -> tensor(bank, LowLatency.RANGES, DataType.INT64, state.ranks()));
    }

    /** Rows of each local expert, when it has ended. */
    int[] countsOnHost(LowLatencyHandleImpl handle, EpEvent end) {
        RequestChecks.requireCountsOnHost(request);
        end.await(state.waits().longest());
        int[] counts = new int[state.localExperts()];
        for (int e = 0; e < counts.length; e++) {
            counts[e] = (int) mode.handles().count(handle.memory(), e);
        }
        return counts;
    }

    /** The packed rows of a bank or the caller's tensor. */
    Tensor rowTensor(int bank) {
        return request.out().orElseGet(() -> tensor(bank, LowLatency.ROWS, format.rowType(), rows(), shape.hidden()));
    }

    /** The scales of a bank or the caller's tensor. */
    Optional<Tensor> scaleTensor(int bank) {
        return format.fp8()
                ? Optional.of(request.outScales()
                        .orElseGet(() -> state.tensor(
                                bank,
                                LowLatency.SCALES,
                                format.scaleType(),
                                format.scaleDims(state.localExperts(), rows()))))
                : Optional.empty();
    }

    /** A result of a bank: one entry for each local expert, of {@code dims}. */
    private Tensor tensor(int bank, LocalLayout.LowLatency region, DataType type, long... dims) {
        long[] all = new long[dims.length + 1];
        all[0] = state.localExperts();
        System.arraycopy(dims, 0, all, 1, dims.length);
        return state.tensor(bank, region, type, all);
    }

    /** Rows of an expert. */
    private long rows() {
        return shape.lowLatencyRows(state.ranks());
    }
}
