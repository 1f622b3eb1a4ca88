package org.ep4j.engine.buffer;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchOutputs;
import org.ep4j.DispatchRequest;
import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.RowLayout;
import org.ep4j.ScaleLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.ScaleGrid;

/** What requests must satisfy on every device, as far as it can be said without reading device contents. */
public final class RequestChecks {
    private static final List<DataType> ROW_TYPES = List.of(
            DataType.BF16, DataType.FP8_E4M3, DataType.FP8_E4M3_FNUZ, DataType.FP8_E5M2, DataType.FP8_E5M2_FNUZ);
    private static final List<DataType> BF16 = List.of(DataType.BF16);
    private static final List<DataType> FP32 = List.of(DataType.FP32);
    private static final List<DataType> SCALE_TYPES = List.of(DataType.FP32, DataType.UE8M0);
    private static final List<DataType> INT32 = List.of(DataType.INT32);
    private static final List<DataType> INT64 = List.of(DataType.INT64);

    private final TensorArgs args;
    private final EpShape shape;
    private final int ranks;
    private final int localExperts;
    private final BufferMemory memory;

    /**
     * For one buffer.
     *
     * @param device of its group
     * @param localExperts of this rank
     * @param memory of the buffer, where it is now
     */
    public RequestChecks(Device device, EpShape shape, int ranks, int localExperts, BufferMemory memory) {
        this.args = new TensorArgs(device);
        this.shape = shape;
        this.ranks = ranks;
        this.localExperts = localExperts;
        this.memory = memory;
    }

    /**
     * Ids that only a layout is asked for.
     *
     * @return T
     */
    public int layoutTokens(Tensor topkIds) {
        return args.tokens("topkIds", topkIds, EpShape.MAX_TOKENS, "the largest number of tokens");
    }

    /** Expert ids of {@code tokens} tokens; which experts they name is not looked at. */
    public void ids(Tensor topkIds, int tokens) {
        args.ids(topkIds, tokens, shape.topK());
    }

    /**
     * A high-throughput dispatch but for its ids, handle and {@code out}.
     *
     * @return T
     */
    public int dispatch(DispatchRequest request) {
        if (!shape.layouts().contains(request.layout())) {
            throw new EpArgumentException(
                    "layout",
                    request.layout(),
                    "of " + shape.layouts() + ", which the buffer's shape has",
                    "build the shape with this layout, or without layouts() for all of them");
        }
        int tokens = args.tokens("x", request.x(), shape.maxTokens(), "maxTokens");
        args.rows("x", request.x(), ROW_TYPES, tokens, shape.hidden());
        boolean fp8 = request.x().type().isFp8();
        if (fp8 != request.scales().isPresent()) {
            throw new EpArgumentException(
                    "scales",
                    fp8 ? "absent" : "present",
                    fp8 ? "present with FP8 rows" : "absent with BF16 rows",
                    "scales go with FP8 rows and only with them");
        }
        request.scales()
                .ifPresent(s -> args.tensor(
                        "scales",
                        s,
                        SCALE_TYPES,
                        new ScaleGrid(s.type(), shape.scales(), ScaleLayout.ROWS).dims(tokens)));
        request.topkWeights().ifPresent(w -> args.tensor("topkWeights", w, FP32, tokens, shape.topK()));
        request.waitStats().ifPresent(s -> args.tensor("waitStats", s, INT64, ranks));
        return tokens;
    }

    /** The handle of a high-throughput dispatch of {@code tokens} tokens, and its {@code out} but for the room in it. */
    public void dispatchTo(DispatchRequest request, int tokens, Optional<? extends DispatchHandle> cached) {
        cached.ifPresent(handle -> {
            if (handle.tokens() != tokens) {
                throw new EpArgumentException(
                        "x",
                        tokens + " tokens",
                        handle.tokens() + " tokens, as the handle",
                        "send the same tokens again");
            }
            if (handle.layout() != request.layout()) {
                throw new EpArgumentException(
                        "layout", request.layout(), handle.layout() + ", as the handle", "use DispatchRequest.cached");
            }
        });
        request.out().ifPresent(out -> args.rows("out", out, List.of(request.x().type()), -1, shape.hidden()));
        outputs(request);
        memory.checkDispatch(
                uses(request).all,
                request.layout() == RowLayout.BY_EXPERT,
                request.out().isPresent());
    }

    /** Results other than the rows: where there is one for each row, for all that can arrive. */
    private void outputs(DispatchRequest request) {
        DispatchOutputs outputs = request.outputs();
        boolean byExpert = request.layout() == RowLayout.BY_EXPERT;
        requireSent("outputs.scales", outputs.scales(), request.scales().isPresent(), "FP8 rows");
        requireSent("outputs.topkIds", outputs.topkIds(), !byExpert, "the by-rank layout");
        requireSent(
                "outputs.topkWeights",
                outputs.topkWeights(),
                request.topkWeights().isPresent(),
                "weights in the request");
        outputs.scales().ifPresent(s -> scales(request, s));
        outputs.topkIds().ifPresent(i -> args.tensor("outputs.topkIds", i, idTypes(request), -1, shape.topK()));
        outputs.topkWeights().ifPresent(w -> {
            if (byExpert) {
                args.tensor("outputs.topkWeights", w, FP32, -1);
            } else {
                args.tensor("outputs.topkWeights", w, FP32, -1, shape.topK());
            }
        });
        outputs.sourceRanks().ifPresent(s -> args.tensor("outputs.sourceRanks", s, INT32, -1));
        outputs.sourceTokens().ifPresent(s -> args.tensor("outputs.sourceTokens", s, INT32, -1));
        outputs.rowsPerSource().ifPresent(s -> args.tensor("outputs.rowsPerSource", s, INT32, ranks));
        outputs.rowsPerExpert().ifPresent(s -> args.tensor("outputs.rowsPerExpert", s, INT32, localExperts));
        outputs.expertOffsets().ifPresent(s -> args.tensor("outputs.expertOffsets", s, INT64, localExperts + 1L));
    }

    private void scales(DispatchRequest request, Tensor output) {
        ScaleGrid grid = scales(request).orElseThrow();
        long[] dims = grid.dims(0);
        dims[grid.layout() == ScaleLayout.ROWS ? 0 : 1] = -1;
        args.rows("outputs.scales", output, List.of(grid.type()), dims);
        if (grid.layout() == ScaleLayout.COLUMNS && output.dim(1) != ScaleGrid.padded(output.dim(1))) {
            throw new EpArgumentException(
                    "outputs.scales", "columns of " + output.dim(1) + " rows", "a multiple of 4", "round it up");
        }
    }

    /** How the scales of a high-throughput dispatch arrive, where there are any. */
    public Optional<ScaleGrid> scales(DispatchRequest request) {
        return request.scales().map(s -> new ScaleGrid(s.type(), shape.scales(), request.scaleLayout()));
    }

    private static List<DataType> idTypes(DispatchRequest request) {
        return request.topkIds().map(ids -> List.of(ids.type())).orElse(List.of(DataType.INT32, DataType.INT64));
    }

    private static void requireSent(String name, Optional<Tensor> output, boolean sent, String what) {
        if (output.isPresent() && !sent) {
            throw new EpArgumentException(name, "present", "absent without " + what, "leave it out");
        }
    }

    /** Memory that a dispatch of a request works on, beside the buffer's. */
    public static List<DeviceMemory> memory(DispatchRequest request) {
        return uses(request).memory();
    }

    /** Memory that a combine of a request works on, beside the buffer's. */
    public static List<DeviceMemory> memory(CombineRequest request) {
        return uses(request).reads("x", request.x()).memory();
    }

    /** Memory that a low-latency dispatch of a request works on, beside the buffer's. */
    public static List<DeviceMemory> memory(LowLatencyDispatchRequest request) {
        return uses(request).memory();
    }

    /** Memory that a low-latency combine of a request works on, beside the buffer's. */
    public static List<DeviceMemory> memory(LowLatencyCombineRequest request) {
        return uses(request).memory();
    }

    private static Uses uses(DispatchRequest request) {
        return new Uses()
                .reads("x", request.x())
                .reads("scales", request.scales())
                .reads("topkIds", request.topkIds())
                .reads("topkWeights", request.topkWeights())
                .writes("waitStats", request.waitStats())
                .writes("out", request.out())
                .writes("outputs.scales", request.outputs().scales())
                .writes("outputs.topkIds", request.outputs().topkIds())
                .writes("outputs.topkWeights", request.outputs().topkWeights())
                .writes("outputs.sourceRanks", request.outputs().sourceRanks())
                .writes("outputs.sourceTokens", request.outputs().sourceTokens())
                .writes("outputs.rowsPerSource", request.outputs().rowsPerSource())
                .writes("outputs.rowsPerExpert", request.outputs().rowsPerExpert())
                .writes("outputs.expertOffsets", request.outputs().expertOffsets());
    }

    /** All but x, which may be where others may not. */
    private static Uses uses(CombineRequest request) {
        Uses uses = new Uses().reads("weights", request.weights());
        request.bias().forEach(bias -> uses.reads("bias", bias));
        return uses.writes("out", request.out())
                .writes("outWeights", request.outWeights())
                .writes("waitStats", request.waitStats());
    }

    private static Uses uses(LowLatencyDispatchRequest request) {
        return new Uses()
                .reads("x", request.x())
                .reads("topkIds", request.topkIds())
                .reads("topkWeights", request.topkWeights())
                .writes("cumulativeStats", request.cumulativeStats())
                .writes("waitStats", request.waitStats())
                .writes("out", request.out())
                .writes("outScales", request.outScales())
                .writes("outCounts", request.outCounts())
                .writes("outSourceTokens", request.outSourceTokens())
                .writes("outLayoutRanges", request.outLayoutRanges());
    }

    private static Uses uses(LowLatencyCombineRequest request) {
        return new Uses()
                .reads("x", request.x())
                .reads("topkWeights", request.topkWeights())
                .writes("waitStats", request.waitStats())
                .writes("out", request.out());
    }

    /** Tensors of a request as they are used. */
    private static final class Uses {
        private final List<BufferMemory.Use> all = new ArrayList<>();

        Uses reads(String name, Tensor tensor) {
            all.add(new BufferMemory.Use(name, tensor, false));
            return this;
        }

        Uses reads(String name, Optional<Tensor> tensor) {
            tensor.ifPresent(t -> reads(name, t));
            return this;
        }

        Uses writes(String name, Optional<Tensor> tensor) {
            tensor.ifPresent(t -> all.add(new BufferMemory.Use(name, t, true)));
            return this;
        }

        List<DeviceMemory> memory() {
            return all.stream().map(use -> use.tensor().memory()).toList();
        }
    }

    /** With worst-case sizes the needed room is known before anything moves; with exact ones only the caller's bound is. */
    public void room(DispatchRequest request, long worstRows) {
        if (request.out().isPresent()
                && !request.exactCounts()
                && request.out().get().dim(0) < worstRows) {
            throw new EpArgumentException(
                    "out",
                    request.out().get().dim(0) + " rows",
                    "at least " + worstRows + " rows, the worst case",
                    "pass a larger tensor, or ask for exact counts");
        }
    }

    /**
     * Room in the results other than the rows, which are written before anybody knows how much arrived.
     *
     * @param idType of the ids that arrive
     */
    public void outputRoom(DispatchRequest request, long worstRows, DataType idType) {
        DispatchOutputs outputs = request.outputs();
        outputs.topkIds().ifPresent(ids -> args.tensor("outputs.topkIds", ids, List.of(idType), -1, shape.topK()));
        boolean columns = request.scaleLayout() == ScaleLayout.COLUMNS;
        requireRoom(
                "outputs.scales", outputs.scales(), columns ? 1 : 0, columns ? ScaleGrid.padded(worstRows) : worstRows);
        requireRoom("outputs.topkIds", outputs.topkIds(), 0, worstRows);
        requireRoom("outputs.topkWeights", outputs.topkWeights(), 0, worstRows);
        requireRoom("outputs.sourceRanks", outputs.sourceRanks(), 0, worstRows);
        requireRoom("outputs.sourceTokens", outputs.sourceTokens(), 0, worstRows);
    }

    private static void requireRoom(String name, Optional<Tensor> output, int rows, long worstRows) {
        if (output.isPresent() && output.get().dim(rows) < worstRows) {
            throw new EpArgumentException(
                    name,
                    output.get().dim(rows) + " rows",
                    "at least " + worstRows + " rows, the worst case",
                    "pass a larger tensor, or lower maxReceivedTokens of the buffer's shape");
        }
    }

    /** Rows that a high-throughput dispatch can deliver to this rank at most. */
    public long worstRows(RowLayout layout, int alignment) {
        return layout == RowLayout.BY_EXPERT
                ? LocalLayout.expandedCapacity(shape, ranks, localExperts, alignment)
                : shape.receiveCapacity(ranks);
    }

    /**
     * A high-throughput combine.
     *
     * @param alignment of the dispatch of {@code handle}
     */
    public void combine(CombineRequest request, DispatchHandle handle, int alignment) {
        boolean byExpert = handle.layout() == RowLayout.BY_EXPERT;
        long worstRows = worstRows(handle.layout(), alignment);
        args.rows("x", request.x(), BF16, -1, shape.hidden());
        combineRows("x", request.x(), handle, worstRows, "pass the expert outputs in the row order of the dispatch");
        request.weights().ifPresent(w -> {
            if (byExpert) {
                args.tensor("weights", w, FP32, -1);
            } else {
                args.tensor("weights", w, FP32, -1, shape.topK());
            }
            combineRows("weights", w, handle, worstRows, "pass one row of weights for each row of x");
        });
        for (Tensor bias : request.bias()) {
            args.rows("bias", bias, BF16, handle.tokens(), shape.hidden());
        }
        request.out().ifPresent(out -> args.rows("out", out, BF16, handle.tokens(), shape.hidden()));
        requireSent("outWeights", request.outWeights(), request.weights().isPresent(), "weights in the request");
        request.outWeights().ifPresent(w -> args.tensor("outWeights", w, FP32, handle.tokens(), shape.topK()));
        request.waitStats().ifPresent(s -> args.tensor("waitStats", s, INT64, ranks));
        memory.checkCombine(
                request.x(),
                uses(request).all,
                byExpert,
                request.out().isPresent(),
                request.weights().isPresent());
    }

    /** Tensors for the worst case are not held against the counts, which may not be known yet. */
    private static void combineRows(String name, Tensor tensor, DispatchHandle handle, long worstRows, String remedy) {
        if (tensor.dim(0) < worstRows && tensor.dim(0) < handle.rows()) {
            throw new EpArgumentException(
                    name, tensor.dim(0) + " rows", "at least " + handle.rows() + " rows, as the handle", remedy);
        }
    }

    /**
     * A low-latency dispatch but for its ids.
     *
     * @return T
     */
    public int lowLatencyDispatch(LowLatencyDispatchRequest request) {
        LowLatencyFormat format = new LowLatencyFormat(request.format(), request.scaleLayout(), shape);
        int tokens = args.tokens("x", request.x(), shape.maxLowLatencyTokens(), "maxLowLatencyTokens");
        args.rows("x", request.x(), BF16, tokens, shape.hidden());
        long rows = shape.lowLatencyRows(ranks);
        request.topkWeights().ifPresent(w -> args.tensor("topkWeights", w, FP32, tokens, shape.topK()));
        request.cumulativeStats().ifPresent(s -> args.tensor("cumulativeStats", s, INT32, localExperts));
        request.waitStats().ifPresent(s -> args.tensor("waitStats", s, INT64, ranks));
        request.out()
                .ifPresent(out -> args.rows("out", out, List.of(format.rowType()), localExperts, rows, shape.hidden()));
        request.outScales()
                .ifPresent(out -> args.tensor(
                        "outScales", out, List.of(format.scaleType()), format.scaleDims(localExperts, rows)));
        request.outCounts().ifPresent(c -> args.tensor("outCounts", c, INT32, localExperts));
        request.outSourceTokens().ifPresent(s -> args.tensor("outSourceTokens", s, INT32, localExperts, rows));
        request.outLayoutRanges().ifPresent(s -> args.tensor("outLayoutRanges", s, INT64, localExperts, ranks));
        if (request.outScales().isPresent() && !format.fp8()) {
            throw new EpArgumentException("outScales", "present", "absent with BF16 rows", "leave it out");
        }
        memory.checkLowLatencyDispatch(
                uses(request).all,
                request.out().isPresent(),
                request.outScales().isPresent() || !format.fp8());
        return tokens;
    }

    /**
     * A low-latency combine.
     *
     * @param tokens T of its dispatch
     * @param weighted whether the dispatch carried weights
     */
    public void lowLatencyCombine(LowLatencyCombineRequest request, int tokens, boolean weighted) {
        args.rows("x", request.x(), BF16, localExperts, shape.lowLatencyRows(ranks), shape.hidden());
        request.topkWeights().ifPresent(w -> args.tensor("topkWeights", w, FP32, tokens, shape.topK()));
        request.waitStats().ifPresent(s -> args.tensor("waitStats", s, INT64, ranks));
        request.out().ifPresent(out -> args.rows("out", out, BF16, tokens, shape.hidden()));
        memory.checkLowLatencyCombine(uses(request).all, request.out().isPresent());
        boolean partial = request.precision() != CombinePrecision.EXACT;
        if (!weighted && (partial || request.topkWeights().isEmpty())) {
            throw new EpArgumentException(
                    "topkWeights",
                    "absent" + (partial ? " from the dispatch" : ""),
                    partial ? "given in the dispatch for a rank-partial combine" : "given here or in the dispatch",
                    "pass the weights of this rank's tokens");
        }
    }

    /** Counts come to the host only where the caller has asked for them. */
    public static void requireCountsOnHost(LowLatencyDispatchRequest request) {
        if (!request.countsOnHost()) {
            throw new EpStateException(
                    "the dispatch was not asked for counts on the host; ask with countsOnHost(), or read counts()");
        }
    }

    /** What a handle is refused with that another buffer made. */
    public static EpStateException foreignHandle() {
        return new EpStateException("the handle is of another buffer (or of one that is closed);"
                + " combine on the buffer that dispatched, with the handle of that dispatch");
    }
}
