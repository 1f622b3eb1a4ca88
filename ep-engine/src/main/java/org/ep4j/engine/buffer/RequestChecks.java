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
import org.ep4j.transport.memory.TrackedMemory;

/**
 * What requests must satisfy on every device, as far as it can be said without reading device contents; checked before anything
 * moves, since a kernel that reads outside its memory ends the process. Elements are aligned by their size, see {@link Tensor}.
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

    /**
     * For one buffer.
     *
     * @param device of its group; all memory of the host counts as one device
     * @param localExperts of this rank
     */
    public RequestChecks(Device device, EpShape shape, int ranks, int localExperts) {
        this.device = device;
        this.host = device.type().equals(Device.HOST.type());
        this.shape = shape;
        this.ranks = ranks;
        this.localExperts = localExperts;
    }

    /**
     * Ids that only a layout is asked for.
     *
     * @return T
     */
    public int layoutTokens(Tensor topkIds) {
        return tokens("topkIds", topkIds, EpShape.MAX_TOKENS, "EpShape.MAX_TOKENS");
    }

    /** Expert ids of {@code tokens} tokens; which experts they name is not looked at. */
    public void ids(Tensor topkIds, int tokens) {
        tensor("topkIds", topkIds, ID_TYPES, tokens, shape.topK());
    }

    /**
     * A high-throughput dispatch but for its ids, handle and {@code out}.
     *
     * @return T
     */
    public int dispatch(DispatchRequest request) {
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
        return tokens;
    }

    /** The handle of a high-throughput dispatch of {@code tokens} tokens, and its {@code out} but for the room in it. */
    public void dispatchTo(DispatchRequest request, int tokens, Optional<? extends DispatchHandle> cached) {
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
    }

    /** With worst-case sizes the needed room is known before anything moves; with exact ones only the caller's bound is. */
    public void room(DispatchRequest request, long worstRows) {
        if (request.out().isPresent()
                && request.worstCase()
                && request.out().get().dim(0) < worstRows) {
            throw new EpArgumentException(
                    "out",
                    request.out().get().dim(0) + " rows",
                    "at least " + worstRows + " rows, the worst case",
                    "pass a larger tensor, or leave worstCase() out");
        }
    }

    /** Rows that a high-throughput dispatch can deliver to this rank at most. */
    public long worstRows(RowLayout layout, int alignment) {
        return ShapeSizes.maxRows(shape, ranks, localExperts, layout, alignment);
    }

    /**
     * A high-throughput combine.
     *
     * @param alignment of the dispatch of {@code handle}
     * @param symmetric this rank's symmetric memory
     */
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
        if (request.outScales().isPresent() && !format.fp8()) {
            throw new EpArgumentException("outScales", "present", "absent with BF16 rows", "leave it out");
        }
        return tokens;
    }

    /**
     * A low-latency combine.
     *
     * @param tokens T of its dispatch
     * @param weighted whether the dispatch carried weights
     */
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
        TrackedMemory.requireOpen(name, tensor.memory());
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

    /** As {@link #tensor}, and the rows begin at a multiple of 16 bytes. */
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

    /** Number of tokens of a tensor of rows, at most {@code most}, which is named {@code limit}. */
    private int tokens(String name, Tensor tensor, int most, String limit) {
        TrackedMemory.requireOpen(name, tensor.memory());
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
}
