package org.ep4j.engine.gpu;

import java.util.Objects;
import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEvent;
import org.ep4j.EpShape;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.EngineHandle;
import org.ep4j.engine.buffer.HighThroughputResults;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.buffer.RowRoom;
import org.ep4j.engine.gpu.HighThroughput.Handle;
import org.ep4j.engine.gpu.Operations.Queue;
import org.ep4j.engine.layout.LocalLayout.HighThroughput;
import org.ep4j.engine.layout.LocalLayout.Part;
import org.ep4j.gpu.driver.EngineGpu;
import org.jspecify.annotations.Nullable;

/**
 * One high-throughput dispatch: exchanges counts, writes every row once to its final place in the memory of each rank that
 * needs it, unpacks the records, and moves rows that belong elsewhere. See {@code ht_dispatch.cu}.
 */
final class HighThroughputDispatch implements HighThroughputResults.DispatchSource {
    private static final long DISPATCH = 1;
    private static final long CACHED_DISPATCH = 2;
    private static final long FP8_FLAG = 1;
    private static final long WEIGHTS_FLAG = 2;
    private static final long FNUZ_FLAG = 4;

    private static final int MOST_THREADS = 1024;

    private final org.ep4j.engine.gpu.HighThroughput mode;
    private final GpuState state;
    private final EpShape shape;
    private final DispatchRequest request;
    private final Optional<Handle> cached;
    private final int tokens;
    private final boolean fp8;
    private final long worstRows;

    private long call;
    /** Absent until the dispatch is queued. */
    private @Nullable Handle handle;

    private DeviceMemory symmetric;

    /** Checks everything that does not depend on device contents. */
    HighThroughputDispatch(org.ep4j.engine.gpu.HighThroughput mode, DispatchRequest request) {
        this.mode = mode;
        this.state = mode.state;
        this.shape = state.shape();
        this.request = request;
        RequestChecks checks = state.checks();
        tokens = checks.dispatch(request);
        fp8 = request.scales().isPresent();
        request.topkIds().ifPresent(ids -> checks.ids(ids, tokens));
        cached = request.routing().map(known -> EngineHandle.own(known, Handle.class, mode));
        checks.dispatchTo(
                request,
                tokens,
                cached,
                cached.map(Handle::idType)
                        .orElseGet(() -> request.topkIds().orElseThrow().type()));
        worstRows =
                checks.worstRows(request.layout(), cached.map(Handle::alignment).orElse(request.expertAlignment()));
        checks.room(request, worstRows);
        symmetric = state.symmetric();
    }

    private boolean byExpert() {
        return request.layout() == RowLayout.BY_EXPERT;
    }

    @Override
    public long number() {
        return call;
    }

    @Override
    public Handle handle() {
        return Objects.requireNonNull(handle);
    }

    @Override
    public DataType idType() {
        return handle().idType();
    }

    @Override
    public DeviceMemory symmetric() {
        return symmetric;
    }

    @Override
    public int[] hostRowsPerExpert() {
        int[] aligned = new int[state.localExperts()];
        // Rows received, rows seen, selections of the experts, then offsets.
        int offsets = 2 + aligned.length;
        for (int e = 0; e < aligned.length; e++) {
            aligned[e] = (int) (handle().count(offsets + e + 1) - handle().count(offsets + e));
        }
        return aligned;
    }

    DispatchResult run(Queue queue, EpEvent event) {
        if (!request.worstCase() && queue.isCapturing()) {
            throw new EpArgumentException(
                    "worstCase",
                    false,
                    "true while the stream records a graph",
                    "use worstCase(): sizes are fixed when a graph is recorded");
        }
        takeMemory();
        call = mode.beginDispatch();
        Handle used = cached.orElseGet(() -> newHandle(event));
        used.usedBy(queue);
        handle = used;
        symmetric = state.symmetric();
        Arguments arguments = arguments(queue, used);
        launch(queue, "ht_send", KernelSizes.sendStage(shape, state.symmetricLayout(), state.ranks(), fp8), arguments);
        if (state.remotes()) {
            launch(queue, "ht_take", KernelSizes.rowStage(rowBytes()), arguments);
        }
        queue.launchOverlapping("ht_receive", queue.highThroughputBlocks(), MOST_THREADS, 0, arguments);
        if (byExpert() || request.out().isPresent()) {
            launch(queue, "ht_expand", KernelSizes.rowStage(rowBytes()), arguments);
        }
        return new HighThroughputResults.Dispatch(this, mode.dispatches, state, request, worstRows, event);
    }

    /** Takes memory for results that the caller gives no tensors for; a failure leaves the results of the previous dispatch readable. */
    private void takeMemory() {
        LocalMemory results = state.results();
        if (!givesRecords()) {
            results.take(Part.RECORDS);
        }
        if (fp8 && request.outScales().isEmpty()) {
            results.take(byExpert() ? Part.EXPANDED_SCALES : Part.SCALES);
        }
        if (byExpert() && request.out().isEmpty()) {
            results.take(Part.EXPANDED);
        }
    }

    /** Returns whether the caller gives tensors for all regions of {@link Part#RECORDS}. */
    private boolean givesRecords() {
        return (byExpert() || request.outTopkIds().isPresent())
                && request.outTopkWeights().isPresent()
                && request.outSourceRanks().isPresent()
                && request.outSourceTokens().isPresent()
                && request.outRowsPerSource().isPresent()
                && request.outRowsPerExpert().isPresent()
                && request.outExpertOffsets().isPresent();
    }

    private Handle newHandle(EpEvent event) {
        HandlePool.HandleMemory memory = mode.handles.take();
        DataType idType = request.topkIds().orElseThrow().type();
        return new Handle(mode, memory, tokens, request.layout(), request.expertAlignment(), idType, event);
    }

    private int rowBytes() {
        return (int) request.x().type().bytes(shape.hidden());
    }

    /** Launches as many warps as have room for a row. */
    private void launch(Queue queue, String kernel, int stageBytes, Arguments arguments) {
        EngineGpu device = state.device();
        int most = MOST_THREADS / device.info().warpSize();
        boolean bulk = device.hasBulkCopies();
        int warps = bulk ? Math.min(most, KernelSizes.roomBytes(device, state.ranks()) / stageBytes) : most;
        queue.launchOverlapping(
                kernel,
                queue.highThroughputBlocks(),
                warps * device.info().warpSize(),
                bulk ? warps * stageBytes : 0,
                arguments);
    }

    private long flags() {
        return (fp8 ? FP8_FLAG : 0)
                | (request.topkWeights().isPresent() ? WEIGHTS_FLAG : 0)
                | (request.x().type() == DataType.FP8_E4M3_FNUZ ? FNUZ_FLAG : 0);
    }

    private Arguments arguments(Queue queue, Handle used) {
        return queue.arguments()
                .set(Param.KIND, cached.isPresent() ? CACHED_DISPATCH : DISPATCH)
                .set(Param.FLAGS, flags())
                .set(Param.TOKENS, tokens)
                .set(Param.X, request.x().address())
                .set(Param.IDS, address(request.topkIds()))
                .set(Param.WIDE_IDS, used.idType() == DataType.INT64)
                .set(Param.WEIGHTS, address(request.topkWeights()))
                .set(Param.SCALES, address(request.scales()))
                .set(Param.HANDLE, used.routing().address())
                .set(Param.COUNTS, used.routing().countsAddress())
                .set(Param.ROWS, mostRows())
                .set(Param.ALIGNMENT, request.expertAlignment())
                .set(Param.BY_EXPERT, byExpert())
                .set(Param.ZERO_PADDING, request.zeroPadding())
                .set(Param.OUT, outAddress())
                .set(Param.OUT_SCALES, scalesAddress())
                .set(Param.OUT_IDS, byExpert() ? 0 : address(request.outTopkIds(), HighThroughput.TOPK_IDS))
                .set(Param.OUT_WEIGHTS, address(request.outTopkWeights(), HighThroughput.TOPK_WEIGHTS))
                .set(Param.SOURCE_RANKS, address(request.outSourceRanks(), HighThroughput.SOURCE_RANKS))
                .set(Param.SOURCE_TOKENS, address(request.outSourceTokens(), HighThroughput.SOURCE_TOKENS))
                .set(Param.ROWS_PER_SOURCE, address(request.outRowsPerSource(), HighThroughput.ROWS_PER_SOURCE))
                .set(Param.ROWS_PER_EXPERT, address(request.outRowsPerExpert(), HighThroughput.ROWS_PER_EXPERT))
                .set(Param.EXPERT_OFFSETS, address(request.outExpertOffsets(), HighThroughput.EXPERT_OFFSETS))
                .set(Param.STATISTICS, address(request.expertStats()))
                .set(Param.WAIT_STATISTICS, address(request.waitStats()))
                // Whether rows after the last one are visible.
                .set(Param.EXTRA, request.worstCase());
    }

    /** Rows that there is room for. */
    private long mostRows() {
        return request.worstCase() ? worstRows : Math.min(worstRows, RowRoom.of(request));
    }

    /** Address of a result in the caller's tensor, or in the buffer. */
    private long address(Optional<Tensor> given, HighThroughput region) {
        return given.isPresent() ? given.get().address() : state.address(region);
    }

    private static long address(Optional<Tensor> tensor) {
        return tensor.map(Tensor::address).orElse(0L);
    }

    /** Address of the scales of received rows; 0 without scales. */
    private long scalesAddress() {
        return fp8
                ? address(request.outScales(), byExpert() ? HighThroughput.EXPANDED_SCALES : HighThroughput.SCALES)
                : 0;
    }

    /** Address of rows that do not stay where their senders put them. */
    private long outAddress() {
        return request.out().isPresent()
                ? request.out().get().address()
                : byExpert() ? state.address(HighThroughput.EXPANDED) : 0;
    }
}
