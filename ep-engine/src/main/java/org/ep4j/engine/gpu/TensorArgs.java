package org.ep4j.engine.gpu;

import java.util.Arrays;
import java.util.List;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.Tensor;

/** Checks of what callers pass, before anything is queued: a kernel that reads outside its memory ends the process. */
final class TensorArgs {
    static final List<DataType> ID_TYPES = List.of(DataType.INT32, DataType.INT64);

    /** Rows are moved in pieces of this many bytes. */
    private static final int ROW_ALIGNMENT = 16;

    private final Device device;

    TensorArgs(Device device) {
        this.device = device;
    }

    /**
     * Checks device, type, shape and natural alignment; -1 stands for any size.
     *
     * @return its address
     */
    long tensor(String name, Tensor tensor, List<DataType> types, long... shape) {
        return aligned(name, tensor, types, 1, shape);
    }

    /** As {@link #tensor}, and the rows begin at a multiple of 16 bytes. */
    long rows(String name, Tensor tensor, List<DataType> types, long... shape) {
        return aligned(name, tensor, types, ROW_ALIGNMENT, shape);
    }

    private long aligned(String name, Tensor tensor, List<DataType> types, int alignment, long... shape) {
        if (!tensor.memory().device().equals(device)) {
            throw new EpArgumentException(
                    name, "on " + tensor.memory().device(), "on " + device, "the group's device is " + device);
        }
        if (!types.contains(tensor.type())) {
            throw new EpArgumentException(
                    name, tensor.type(), "of type " + types, "convert it, or pass the right tensor");
        }
        boolean same = tensor.shape().size() == shape.length;
        for (int i = 0; same && i < shape.length; i++) {
            same = shape[i] < 0 || tensor.dim(i) == shape[i];
        }
        if (!same) {
            throw new EpArgumentException(
                    name,
                    "of shape " + tensor.shape(),
                    "of shape " + Arrays.toString(shape).replace("-1", "any"),
                    "see the sizes of the buffer's shape");
        }
        long multiple = Math.max(alignment, tensor.type().bytes());
        if (tensor.address() % multiple != 0) {
            throw new EpArgumentException(
                    name,
                    "at address 0x" + Long.toHexString(tensor.address()),
                    "at a multiple of " + multiple,
                    "align it");
        }
        return tensor.address();
    }

    /** Number of tokens of a tensor of rows, checked against the shape. */
    int tokens(String name, Tensor tensor, int most, String limit) {
        if (tensor.shape().isEmpty()) {
            throw new EpArgumentException(name, "of shape []", "of shape [T, ...]", "pass one row a token");
        }
        long tokens = tensor.dim(0);
        if (tokens > most) {
            throw new EpArgumentException(
                    name,
                    tokens + " tokens",
                    "at most " + limit + " = " + most,
                    "send fewer, or create a larger buffer");
        }
        return (int) tokens;
    }

    /** True when the two ranges share a byte. */
    static boolean overlap(long a, long aBytes, long b, long bBytes) {
        return a < b + bBytes && b < a + aBytes;
    }
}
