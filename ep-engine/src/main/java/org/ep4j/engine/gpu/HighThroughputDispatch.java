package org.ep4j.engine.gpu;

import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.DispatchOutputs;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEvent;
import org.ep4j.EpShape;
import org.ep4j.OverflowPolicy;
import org.ep4j.RowLayout;
import org.ep4j.ScaleLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.layout.LocalLayout.HighThroughput;
import org.ep4j.engine.layout.ScaleGrid;
import org.ep4j.engine.sync.OperationNames;

/**
 * One high-throughput dispatch: counts, then every row written once to its final place in the memory of each rank that
 * needs it, then the records are unpacked, and rows that belong elsewhere are moved there. See {@code ht_dispatch.cu}.
 */
final class HighThroughputDispatch {
    private static final long DISPATCH = 1;
    private static final long CACHED_DISPATCH = 2;
    private static final long WEIGHTS_FLAG = 2;
    private static final long DROP_FLAG = 8;

    /** Columns for as many rows as there are, see {@code scale_stride}. */
    private static final long STRIDE_OF_ROWS = 1;

    private static final int MOST_THREADS = 1024;

    private final org.ep4j.engine.gpu.HighThroughput mode;
    private final GpuState state;
    private final EpShape shape;
    private final DispatchRequest request;
    private final Optional<HighThroughputHandle> cached;
    private final int tokens;
    private final boolean fp8;
    private final Optional<ScaleGrid> grid;
    private final long worstRows;

    /** Checks all that can be checked without reading device contents. */
    HighThroughputDispatch(org.ep4j.engine.gpu.HighThroughput mode, DispatchRequest request) {
        this.mode = mode;
        this.state = mode.state();
        this.shape = state.shape();
        this.request = request;
        RequestChecks checks = state.checks();
        tokens = checks.dispatch(request);
        fp8 = request.scales().isPresent();
        grid = checks.scales(request);
        request.topkIds().ifPresent(ids -> checks.ids(ids, tokens));
        cached = request.cached().map(mode::own);
        checks.dispatchTo(request, tokens, cached);
        worstRows = checks.worstRows(
                request.layout(), cached.map(HighThroughputHandle::alignment).orElse(request.expertAlignment()));
        checks.room(request, worstRows);
        checks.outputRoom(request, worstRows, wideIds() ? DataType.INT64 : DataType.INT32);
    }

    private boolean byExpert() {
        return request.layout() == RowLayout.BY_EXPERT;
    }

    /** Queues it. */
    DispatchResult run(Queue queue, EpEvent event) {
        if (request.exactCounts() && queue.isCapturing()) {
            throw new EpArgumentException(
                    "exactCounts",
                    true,
                    "false while the stream records a graph",
                    "use worstCase(): sizes are fixed when a graph is recorded");
        }
        HighThroughputHandle handle = cached.orElseGet(() -> newHandle(event));
        // Takes the memory of all results before other ranks hear of the operation: a rank that lacks some fails alone.
        Arguments arguments = arguments(queue, handle);
        handle.usedBy(queue);
        long call = mode.beginDispatch();
        launch(queue, "ht_send", Pieces.sendStage(shape, state.symmetricLayout(), state.ranks(), fp8), arguments);
        if (state.remotes()) {
            launch(queue, "ht_take", Pieces.rowStage(rowBytes()), arguments);
        }
        queue.launchOverlapping(
                "ht_receive", state.highThroughputProcessors(request.options()), MOST_THREADS, 0, arguments);
        if (byExpert() || request.out().isPresent()) {
            launch(queue, "ht_expand", Pieces.rowStage(rowBytes()), arguments);
        }
        return new HighThroughputResult(
                mode,
                handle,
                call,
                event,
                rowTensor(),
                request.exactCounts(),
                worstRows,
                request.outputs(),
                grid,
                request.topkWeights().isPresent());
    }

    private HighThroughputHandle newHandle(EpEvent event) {
        HandlePool.HandleMemory memory = mode.handles().take();
        return new HighThroughputHandle(
                mode, memory, tokens, request.layout(), request.expertAlignment(), wideIds(), event);
    }

    private boolean wideIds() {
        return request.topkIds()
                .map(ids -> ids.type() == DataType.INT64)
                .orElseGet(() -> cached.map(HighThroughputHandle::wideIds).orElse(false));
    }

    private int rowBytes() {
        return shape.hidden() * request.x().type().bytes();
    }

    /** With as many warps as have room for a row. */
    private void launch(Queue queue, String kernel, int stageBytes, Arguments arguments) {
        GpuFacts facts = state.device().facts();
        int most = MOST_THREADS / facts.lanes();
        int warps = facts.bulk() ? Math.min(most, Pieces.roomBytes(facts, state.ranks()) / stageBytes) : most;
        queue.launchOverlapping(
                kernel,
                state.highThroughputProcessors(request.options()),
                warps * facts.lanes(),
                facts.bulk() ? warps * stageBytes : 0,
                arguments);
    }

    private long flags() {
        return OperationNames.rows(request.x().type(), request.scales())
                | (request.topkWeights().isPresent() ? WEIGHTS_FLAG : 0)
                | (cached.isEmpty() && request.overflow() == OverflowPolicy.DROP ? DROP_FLAG : 0);
    }

    private Arguments arguments(Queue queue, HighThroughputHandle handle) {
        DispatchOutputs outputs = request.outputs();
        return queue.arguments()
                .set(Param.KIND, cached.isPresent() ? CACHED_DISPATCH : DISPATCH)
                .set(Param.FLAGS, flags())
                .set(Param.TOKENS, tokens)
                .set(Param.X, request.x().address())
                .set(Param.IDS, address(request.topkIds()))
                .set(Param.WIDE_IDS, handle.wideIds())
                .set(Param.WEIGHTS, address(request.topkWeights()))
                .set(Param.SCALES, address(request.scales()))
                .set(Param.HANDLE, handle.memory().address())
                .set(Param.COUNTS, handle.memory().countsAddress())
                .set(Param.ROWS, mostRows())
                .set(Param.ALIGNMENT, request.expertAlignment())
                .set(Param.BY_EXPERT, byExpert())
                .set(Param.ZERO_PADDING, request.zeroPadding())
                .set(Param.OUT, outAddress())
                .set(Param.OUT_SCALES, scaleAddress())
                .set(Param.SCALE_WORDS, grid.map(ScaleGrid::words).orElse(0))
                .set(Param.SCALE_STRIDE, scaleStride())
                .set(Param.OUT_IDS, address(outputs.topkIds(), HighThroughput.TOPK_IDS))
                .set(Param.OUT_WEIGHTS, address(outputs.topkWeights(), HighThroughput.TOPK_WEIGHTS))
                .set(Param.SOURCE_RANKS, address(outputs.sourceRanks(), HighThroughput.SOURCE_RANKS))
                .set(Param.SOURCE_TOKENS, address(outputs.sourceTokens(), HighThroughput.SOURCE_TOKENS))
                .set(Param.ROWS_PER_SOURCE, address(outputs.rowsPerSource(), HighThroughput.ROWS_PER_SOURCE))
                .set(Param.ROWS_PER_EXPERT, address(outputs.rowsPerExpert(), HighThroughput.ROWS_PER_EXPERT))
                .set(Param.EXPERT_OFFSETS, address(outputs.expertOffsets(), HighThroughput.EXPERT_OFFSETS))
                .set(Param.WAIT_STATISTICS, address(request.waitStats()))
                // Whether rows behind the last one are seen.
                .set(Param.EXTRA, !request.exactCounts());
    }

    private long mostRows() {
        return request.exactCounts() && request.out().isPresent()
                ? request.out().get().dim(0)
                : worstRows;
    }

    private static long address(Optional<Tensor> tensor) {
        return tensor.map(Tensor::address).orElse(0L);
    }

    /** The address of a tensor of the caller, or else of the buffer. */
    private long address(Optional<Tensor> own, HighThroughput region) {
        return own.map(Tensor::address).orElseGet(() -> state.address(region));
    }

    private long scaleStride() {
        return request.scaleLayout() == ScaleLayout.ROWS
                ? 0
                : request.outputs().scales().map(s -> s.dim(1)).orElse(STRIDE_OF_ROWS);
    }

    private long scaleAddress() {
        return fp8
                ? address(
                        request.outputs().scales(), byExpert() ? HighThroughput.EXPANDED_SCALES : HighThroughput.SCALES)
                : 0;
    }

    /** Where rows go that do not stay where their senders put them. */
    private long outAddress() {
        return request.out().isPresent()
                ? request.out().get().address()
                : byExpert() ? state.address(HighThroughput.EXPANDED) : 0;
    }

    private HighThroughputResult.Rows rowTensor() {
        DataType type = request.x().type();
        int hidden = shape.hidden();
        if (request.out().isPresent()) {
            Tensor out = request.out().get();
            return rows -> Tensor.of(out.memory(), type, rows, hidden);
        }
        return byExpert()
                ? rows -> state.tensor(HighThroughput.EXPANDED, type, rows, hidden)
                : rows -> state.symmetricTensor(state.symmetricLayout().rows(), type, rows, hidden);
    }
}
