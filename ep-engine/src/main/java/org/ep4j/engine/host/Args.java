package org.ep4j.engine.host;

import java.util.Arrays;
import java.util.List;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.Tensor;
import org.ep4j.engine.memory.HostMemory;

/** Checks of what callers pass, before anything moves. */
final class Args {
    /** Rows are moved in pieces of this many bytes on every device. */
    private static final int ROW_ALIGNMENT = 16;

    private Args() {}

    /** Checks device, type and shape; -1 stands for any size. */
    static HostMemory tensor(String name, Tensor tensor, List<DataType> types, long... shape) {
        if (!tensor.memory().device().type().equals(Device.HOST.type())) {
            throw new EpArgumentException(
                    name, "on " + tensor.memory().device(), "on host:0", "the group's device is the host");
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
        return HostMemory.of(tensor.memory());
    }

    /** As {@link #tensor}, and the rows begin at a multiple of 16 bytes. */
    static HostMemory rows(String name, Tensor tensor, List<DataType> types, long... shape) {
        HostMemory memory = tensor(name, tensor, types, shape);
        if (tensor.address() % ROW_ALIGNMENT != 0) {
            throw new EpArgumentException(
                    name,
                    "at address 0x" + Long.toHexString(tensor.address()),
                    "at a multiple of " + ROW_ALIGNMENT,
                    "align the rows");
        }
        return memory;
    }

    /** Number of tokens of a tensor of rows, checked against the shape. */
    static int tokens(String name, Tensor tensor, int most, String limit) {
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
