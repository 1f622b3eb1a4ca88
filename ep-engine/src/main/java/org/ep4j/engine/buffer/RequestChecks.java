package org.ep4j.engine.buffer;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.transport.memory.DeviceAllocation;

/**
 * Checks requests on every device, without reading device contents, before anything is sent: a kernel that reads outside its memory
 * ends the process. Elements are aligned by their size, see {@link Tensor}.
 */
public final class RequestChecks {
    private static final List<DataType> ROW_TYPES = List.of(DataType.BF16, DataType.FP8_E4M3, DataType.FP8_E4M3_FNUZ);
    private static final List<DataType> ID_TYPES = List.of(DataType.INT32, DataType.INT64);
    private static final List<DataType> BF16 = List.of(DataType.BF16);
    private static final List<DataType> FP32 = List.of(DataType.FP32);
    private static final List<DataType> INT32 = List.of(DataType.INT32);
    private static final List<DataType> INT64 = List.of(DataType.INT64);

    /** Rows are moved in pieces of this many bytes on every device. */
    private static final int ROW_ALIGNMENT = 16;

    private final Device device;
    private final boolean host;
    private final EpShape shape;
    private final int ranks;
    private final int localExperts;

    /** Creates the checks of one buffer; all memory of the host counts as one device. */
    public RequestChecks(Device device, EpShape shape, int ranks, int localExperts) {
        this.device = device;
        this.host = device.type().equals(Device.HOST.type());
        this.shape = shape;
        this.ranks = ranks;
        this.localExperts = localExperts;
    }

    /** Checks ids of which only the layout is asked for; returns T. */
    public int layoutTokens(Tensor topkIds) {
        return tokens("topkIds", topkIds, EpShape.MAX_TOKENS, "EpShape.MAX_TOKENS");
    }

    /** Checks the tensor of the expert ids of {@code tokens} tokens, not their values. */
    public void ids(Tensor topkIds, int tokens) {
        tensor("topkIds", topkIds, ID_TYPES, tokens, shape.topK());
    }

    /** Checks a high-throughput dispatch, except its ids, handle and tensors for results; returns T. */
    public int dispatch(DispatchRequest request) {
        requireLayout(shape, request.layout());
        int tokens = tokens("x", request.x(), shape.maxTokens(), "maxTokens");
        rows("x", request.x(), ROW_TYPES, tokens, shape.hidden());
        boolean fp8 = request.x().type().isFp8();
        if (fp8 != request.scales().isPresent()) {
            throw new EpArgumentException(
                    "scales",
                    fp8 ? "absent" : "present",
                    fp8 ? "present with FP8 rows" : "absent with BF16 rows",
                    "pass scales with FP8 rows, and only with FP8 rows");
        }
        request.scales().ifPresent(s -> tensor("scales", s, FP32, tokens, shape.scales()));
        request.topkWeights().ifPresent(w -> tensor("topkWeights", w, FP32, tokens, shape.topK()));
        request.expertStats().ifPresent(s -> tensor("expertStats", s, INT32, localExperts));
        request.waitStats().ifPresent(s -> tensor("waitStats", s, INT64, ranks));
        return tokens;
    }

    /** Refuses a layout of rows that a shape leaves out. */
    static void requireLayout(EpShape shape, RowLayout layout) {
        if (!shape.layouts().contains(layout)) {
            throw new EpArgumentException(
                    "layout",
                    layout,
                    "in " + shape.layouts() + ", the layouts of the buffer's shape",
                    "name it in EpShape.Builder.layouts() when creating the buffer, or leave layouts() out");
        }
    }

    /**
     * Checks the handle of a high-throughput dispatch of {@code tokens} tokens, and its tensors for results except the room in them.
     *
     * @param idType type of the ids that are sent, or were sent with the routing
     */
    public void dispatchTo(
            DispatchRequest request, int tokens, Optional<? extends DispatchHandle> cached, DataType idType) {
        cached.ifPresent(handle -> {
            if (handle.tokens() != tokens) {
                throw new EpArgumentException(
                        "x",
                        tokens + " tokens",
                        handle.tokens() + " tokens, as many as the handle has",
                        "send the same tokens again");
            }
        });
        request.out().ifPresent(out -> rows("out", out, List.of(request.x().type()), -1, shape.hidden()));
        boolean byExpert = request.layout() == RowLayout.BY_EXPERT;
        if (request.scales().isEmpty()) {
            absent("outScales", request.outScales(), "without scales");
        }
        if (byExpert) {
            absent("outTopkIds", request.outTopkIds(), "in the by-expert layout, whose results have no ids");
        }
        if (request.topkWeights().isEmpty()) {
            absent("outTopkWeights", request.outTopkWeights(), "without topkWeights");
        }
        // Kernels write scales in pieces, too.
        request.outScales().ifPresent(out -> rows("outScales", out, FP32, -1, shape.scales()));
        request.outTopkIds().ifPresent(out -> tensor("outTopkIds", out, List.of(idType), -1, shape.topK()));
        request.outTopkWeights().ifPresent(out -> {
            if (byExpert) {
                tensor("outTopkWeights", out, FP32, -1);
            } else {
                tensor("outTopkWeights", out, FP32, -1, shape.topK());
            }
        });
        request.outSourceRanks().ifPresent(out -> tensor("outSourceRanks", out, INT32, -1));
        request.outSourceTokens().ifPresent(out -> tensor("outSourceTokens", out, INT32, -1));
        request.outRowsPerSource().ifPresent(out -> tensor("outRowsPerSource", out, INT32, ranks));
        request.outRowsPerExpert().ifPresent(out -> tensor("outRowsPerExpert", out, INT32, localExperts));
        request.outExpertOffsets().ifPresent(out -> tensor("outExpertOffsets", out, INT64, localExperts + 1L));
    }

    /** Refuses a tensor for something that the operation does not return. */
    private static void absent(String name, Optional<Tensor> tensor, String when) {
        if (tensor.isPresent()) {
            throw new EpArgumentException(name, "present", "absent " + when, "leave it out");
        }
    }

    /** Checks the room for rows of worst-case size; for exact sizes it is known only when the rows have arrived. */
    public void room(DispatchRequest request, long worstRows) {
        if (request.worstCase() && RowRoom.of(request) < worstRows) {
            throw new EpArgumentException(
                    RowRoom.smallest(request),
                    RowRoom.of(request) + " rows",
                    "at least " + worstRows + " rows, the worst case",
                    "pass a larger tensor, or leave worstCase() out");
        }
    }

    /** Most rows that a high-throughput dispatch can deliver to this rank. */
    public long worstRows(RowLayout layout, int alignment) {
        return ShapeSizes.maxRows(shape, ranks, localExperts, layout, alignment);
    }

    /** Checks a high-throughput combine; {@code alignment} is that of the dispatch of {@code handle}. */
    public void combine(
            CombineRequest request,
            DispatchHandle handle,
            int alignment,
            DeviceMemory symmetric,
            BufferLayout symmetricLayout) {
        boolean byExpert = handle.layout() == RowLayout.BY_EXPERT;
        long worstRows = worstRows(handle.layout(), alignment);
        rows("x", request.x(), BF16, -1, shape.hidden());
        combineRows("x", request.x(), handle, worstRows, "pass the expert outputs in the row order of the dispatch");
        request.weights().ifPresent(w -> {
            if (byExpert) {
                tensor("weights", w, FP32, -1);
            } else {
                tensor("weights", w, FP32, -1, shape.topK());
            }
            combineRows("weights", w, handle, worstRows, "pass one row of weights for each row of x");
        });
        for (Tensor bias : request.bias()) {
            rows("bias", bias, BF16, handle.tokens(), shape.hidden());
        }
        request.out().ifPresent(out -> rows("out", out, BF16, handle.tokens(), shape.hidden()));
        if (request.weights().isEmpty()) {
            absent("outWeights", request.outWeights(), "without weights");
        }
        request.outWeights().ifPresent(out -> tensor("outWeights", out, FP32, handle.tokens(), shape.topK()));
        request.waitStats().ifPresent(s -> tensor("waitStats", s, INT64, ranks));
        long area = symmetric.address() + symmetricLayout.combineArea();
        long areaEnd = symmetric.address() + symmetricLayout.combineWeights(0);
        if (byExpert
                && request.x().address() < areaEnd
                && area < request.x().address() + request.x().byteSize()) {
            throw new EpArgumentException(
                    "x",
                    "in the memory of combineInput()",
                    "elsewhere, because a by-expert combine uses that memory for its own data",
                    "pass memory that you allocated, or the rows of the dispatch");
        }
    }

    /** Does not compare tensors for the worst case with the counts, which may not be known yet. */
    private static void combineRows(String name, Tensor tensor, DispatchHandle handle, long worstRows, String remedy) {
        if (tensor.dim(0) < worstRows && tensor.dim(0) < handle.rows()) {
            throw new EpArgumentException(
                    name, tensor.dim(0) + " rows", "at least " + handle.rows() + " rows, as the handle", remedy);
        }
    }

    /** Checks a low-latency dispatch, except its ids; returns T. */
    public int lowLatencyDispatch(LowLatencyDispatchRequest request) {
        LowLatencyFormat format = new LowLatencyFormat(request.format(), shape);
        int tokens = tokens("x", request.x(), shape.maxLowLatencyTokens(), "maxLowLatencyTokens");
        rows("x", request.x(), BF16, tokens, shape.hidden());
        long rows = ShapeSizes.lowLatencyRows(shape, ranks);
        request.topkWeights().ifPresent(w -> tensor("topkWeights", w, FP32, tokens, shape.topK()));
        request.expertStats().ifPresent(s -> tensor("expertStats", s, INT32, localExperts));
        request.waitStats().ifPresent(s -> tensor("waitStats", s, INT64, ranks));
        request.out().ifPresent(out -> rows("out", out, List.of(format.rowType()), localExperts, rows, shape.hidden()));
        request.outScales()
                .ifPresent(out ->
                        tensor("outScales", out, List.of(format.scaleType()), localExperts, rows, format.scaleCount()));
        if (!format.fp8()) {
            absent("outScales", request.outScales(), "with BF16 rows");
        }
        request.outRowsPerExpert().ifPresent(out -> tensor("outRowsPerExpert", out, INT32, localExperts));
        request.outSourceTokens().ifPresent(out -> tensor("outSourceTokens", out, INT32, localExperts, rows));
        request.outLayoutRanges().ifPresent(out -> tensor("outLayoutRanges", out, INT64, localExperts, ranks));
        return tokens;
    }

    /** Checks a low-latency combine of {@code tokens} tokens; {@code weighted} if its dispatch carried weights. */
    public void lowLatencyCombine(LowLatencyCombineRequest request, int tokens, boolean weighted) {
        rows("x", request.x(), BF16, localExperts, ShapeSizes.lowLatencyRows(shape, ranks), shape.hidden());
        request.topkWeights().ifPresent(w -> tensor("topkWeights", w, FP32, tokens, shape.topK()));
        request.waitStats().ifPresent(s -> tensor("waitStats", s, INT64, ranks));
        request.out().ifPresent(out -> rows("out", out, BF16, tokens, shape.hidden()));
        boolean partial = request.precision() != CombinePrecision.EXACT;
        if (!weighted && (partial || request.topkWeights().isEmpty())) {
            throw new EpArgumentException(
                    "topkWeights",
                    "absent" + (partial ? " from the dispatch" : ""),
                    partial ? "given in the dispatch for a rank-partial combine" : "given here or in the dispatch",
                    "pass the weights of this rank's tokens");
        }
    }

    /** Checks device, type and shape; -1 stands for any size. */
    private void tensor(String name, Tensor tensor, List<DataType> types, long... shape) {
        DeviceAllocation.requireOpen(name, tensor.memory());
        Device actual = tensor.memory().device();
        if (host ? !actual.type().equals(device.type()) : !actual.equals(device)) {
            throw new EpArgumentException(
                    name, "on " + actual, "on " + device, "the group's device is " + (host ? "the host" : device));
        }
        if (!types.contains(tensor.type())) {
            throw new EpArgumentException(
                    name, tensor.type(), "of type " + types, "convert the tensor to such a type, or pass another one");
        }
        boolean same = tensor.dimensions() == shape.length;
        for (int i = 0; same && i < shape.length; i++) {
            same = shape[i] < 0 || tensor.dim(i) == shape[i];
        }
        if (!same) {
            throw new EpArgumentException(
                    name,
                    "of shape " + shape(tensor),
                    "of shape " + Arrays.toString(shape).replace("-1", "any"),
                    "see the sizes of the buffer's shape");
        }
    }

    private static List<Long> shape(Tensor tensor) {
        return IntStream.range(0, tensor.dimensions()).mapToObj(tensor::dim).toList();
    }

    /** As {@link #tensor}; the rows also begin at a multiple of 16 bytes. */
    private void rows(String name, Tensor tensor, List<DataType> types, long... shape) {
        tensor(name, tensor, types, shape);
        if (tensor.address() % ROW_ALIGNMENT != 0) {
            throw new EpArgumentException(
                    name,
                    "at address 0x" + Long.toHexString(tensor.address()),
                    "at an address that is a multiple of " + ROW_ALIGNMENT,
                    "align the tensor to " + ROW_ALIGNMENT + " bytes");
        }
    }

    /** Returns the number of tokens of a tensor of rows, at most {@code most}, which is named {@code limit}. */
    private int tokens(String name, Tensor tensor, int most, String limit) {
        DeviceAllocation.requireOpen(name, tensor.memory());
        if (tensor.dimensions() < 2) {
            throw new EpArgumentException(
                    name, "of shape " + shape(tensor), "of shape [T, ...]", "pass one row a token");
        }
        long tokens = tensor.dim(0);
        if (tokens > most) {
            throw new EpArgumentException(
                    name,
                    tokens + " tokens",
                    "at most " + limit + " = " + most,
                    "send fewer tokens, or create a larger buffer");
        }
        return (int) tokens;
    }

    /**
     * Creates the refusal of an id that no expert has. Where the same bytes in the other order are an id, it asks for the byte order:
     * {@link java.nio.ByteBuffer} is big-endian by default.
     *
     * @param token index of the token
     * @param selection index in the token's top-k list
     * @param experts number of experts
     */
    public static EpArgumentException idOutOfRange(long token, long selection, long id, int experts) {
        long turned = id == (int) id ? Integer.reverseBytes((int) id) : Long.reverseBytes(id);
        boolean order = turned >= 0 && turned < experts;
        return new EpArgumentException(
                "topkIds[" + token + "][" + selection + "]",
                id,
                "-1 or in [0, " + experts + ")",
                "pass global expert ids (not local ids), or -1 for no selection"
                        + (order
                                ? "; is the buffer in ByteOrder.nativeOrder()? In the other byte order the value is "
                                        + turned
                                : ""));
    }

    /**
     * Creates the refusal of more selections of an expert than there is room for.
     *
     * @param token index of the first token that selects the expert twice
     * @param most selections of one expert for which there is room
     */
    public static EpArgumentException duplicateIds(long token, long expert, int most) {
        return new EpArgumentException(
                "topkIds[" + token + "]",
                "a list with expert " + expert + " twice",
                "a list of different experts, because this expert has more than maxLowLatencyTokens = " + most
                        + " selections",
                "select each expert at most once for a token");
    }
}
