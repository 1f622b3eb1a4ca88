package org.ep4j;

import java.util.ArrayList;
import java.util.List;

/**
 * A dense row-major array in device memory: how data enters and leaves ep4j. It owns nothing. Operations require rows
 * ({@code x}, {@code out}, {@code bias}) at a multiple of 16 bytes.
 *
 * @param memory where the elements are, at least as many bytes as type and shape need
 * @param type element type
 * @param shape sizes of the dimensions, outermost first
 */
public record Tensor(DeviceMemory memory, DataType type, List<Long> shape) {
    /** Copies the shape and checks that the memory is large enough for it. */
    public Tensor {
        shape = List.copyOf(shape);
        long bytes = bytes(type, shape);
        if (memory.byteSize() < bytes) {
            throw new EpArgumentException(
                    "memory",
                    memory.byteSize() + " bytes",
                    bytes + " bytes for " + type + shape,
                    "pass memory of at least that size");
        }
        if (memory.address() % type.bytes() != 0) {
            throw new EpArgumentException(
                    "address",
                    "0x" + Long.toHexString(memory.address()),
                    "a multiple of " + type.bytes() + " for " + type,
                    "align the memory to its element size");
        }
    }

    /** A tensor over the start of {@code memory}; {@code dims} outermost first. */
    public static Tensor of(DeviceMemory memory, DataType type, long... dims) {
        List<Long> shape = new ArrayList<>(dims.length);
        for (long dim : dims) {
            shape.add(dim);
        }
        return new Tensor(memory, type, shape);
    }

    /**
     * Bytes that a dense array needs.
     *
     * @throws EpArgumentException when a dimension is negative or the product passes 2^63
     */
    public static long bytes(DataType type, List<Long> shape) {
        // An empty array takes no bytes, wherever its zero stands.
        boolean empty = shape.contains(0L);
        long bytes = empty ? 0 : type.bytes();
        for (long dim : shape) {
            if (dim < 0 || (!empty && bytes > Long.MAX_VALUE / dim)) {
                throw new EpArgumentException(
                        "shape",
                        shape,
                        "dimensions >= 0 that take less than 2^63 bytes in all",
                        "correct the dimensions");
            }
            bytes *= dim;
        }
        return bytes;
    }

    /** Size of dimension {@code index}, outermost is 0. */
    public long dim(int index) {
        return shape.get(index);
    }

    /** Number of elements. */
    public long elements() {
        return byteSize() / type.bytes();
    }

    /** Bytes that the elements take. */
    public long byteSize() {
        return bytes(type, shape);
    }

    /** Address of the first element. */
    public long address() {
        return memory.address();
    }

    @Override
    public String toString() {
        return type + shape.toString() + "@" + memory.device() + "+0x" + Long.toHexString(memory.address());
    }
}
