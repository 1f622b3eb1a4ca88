package org.ep4j.engine.buffer;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.Tensor;
import org.ep4j.transport.memory.TrackedMemory;

/**
 * Checks of tensors that callers pass, before anything moves: a kernel that reads outside its memory ends the process.
 * Elements are aligned by their size, see {@link Tensor}.
 */
public final class TensorArgs {
    /** Rows are moved in pieces of this many bytes on every device. */
    private static final int ROW_ALIGNMENT = 16;

    private static final List<DataType> ID_TYPES = List.of(DataType.INT32, DataType.INT64);

    private final Device device;
    private final boolean host;

    /** For a group whose device is {@code device}; all memory of the host counts as one device. */
    public TensorArgs(Device device) {
        this.device = device;
        this.host = device.type().equals(Device.HOST.type());
    }

    /** Checks device, type and shape; -1 stands for any size. */
    public void tensor(String name, Tensor tensor, List<DataType> types, long... shape) {
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
    public void rows(String name, Tensor tensor, List<DataType> types, long... shape) {
        tensor(name, tensor, types, shape);
        if (tensor.address() % ROW_ALIGNMENT != 0) {
            throw new EpArgumentException(
                    name,
                    "at address 0x" + Long.toHexString(tensor.address()),
                    "at an address that is a multiple of " + ROW_ALIGNMENT,
                    "align the tensor to " + ROW_ALIGNMENT + " bytes");
        }
    }

    /** Expert ids, K for each token; which experts they name is not looked at. */
    public void ids(Tensor topkIds, int tokens, int topK) {
        tensor("topkIds", topkIds, ID_TYPES, tokens, topK);
    }

    /** Number of tokens of a tensor of rows, at most {@code most}, which is named {@code limit}. */
    public int tokens(String name, Tensor tensor, int most, String limit) {
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
