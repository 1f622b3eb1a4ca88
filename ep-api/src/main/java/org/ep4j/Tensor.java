package org.ep4j;

import java.util.Arrays;

/**
 * A dense row-major array in device memory: how data enters and leaves ep4j. It owns nothing. Operations require rows
 * ({@code x}, {@code out}, {@code bias}) at a multiple of 16 bytes. Immutable; equal to tensors of the same memory, type
 * and dimensions.
 */
public final class Tensor {
    private final DeviceMemory memory;
    private final DataType type;
    private final long[] dims;
    private final long byteSize;

    private Tensor(DeviceMemory memory, DataType type, long[] dims, long byteSize) {
        if (memory.byteSize() < byteSize) {
            throw new EpArgumentException(
                    "memory",
                    memory.byteSize() + " bytes",
                    byteSize + " bytes for " + type + Arrays.toString(dims),
                    "pass memory of at least that size");
        }
        if (memory.address() % type.bytes(1) != 0) {
            throw new EpArgumentException(
                    "address",
                    "0x" + Long.toHexString(memory.address()),
                    "a multiple of " + type.bytes(1) + " for " + type,
                    "align the memory to its element size");
        }
        this.memory = memory;
        this.type = type;
        this.dims = dims;
        this.byteSize = byteSize;
    }

    /**
     * Returns a tensor over the start of {@code memory}.
     *
     * @param memory at least as many bytes as type and dimensions need, at a multiple of the size of an element
     * @param dims sizes of the dimensions, outermost first; none for a scalar
     * @throws EpArgumentException when the memory is too short or not aligned, a dimension is negative, or the size passes 2^63
     */
    public static Tensor of(DeviceMemory memory, DataType type, long... dims) {
        long[] copy = dims.clone();
        return new Tensor(memory, type, copy, bytes(type, copy));
    }

    /**
     * Returns a tensor in memory of which only the address is known, as of another library; the caller keeps the memory
     * allocated for as long as an operation or a result uses it.
     *
     * @param address of the first element, as programs of {@code device} see it
     * @param dims sizes of the dimensions, outermost first; none for a scalar
     * @throws EpArgumentException when the address is not aligned, or 0 although there are elements, a dimension is
     *     negative, or the size passes 2^63
     */
    public static Tensor at(long address, Device device, DataType type, long... dims) {
        long[] copy = dims.clone();
        long bytes = bytes(type, copy);
        return new Tensor(DeviceMemory.of(address, bytes, device), type, copy, bytes);
    }

    private static long bytes(DataType type, long[] dims) {
        // An empty array takes no bytes, wherever its zero stands.
        boolean empty = false;
        for (long dim : dims) {
            empty |= dim == 0;
        }
        long bytes = empty ? 0 : type.bytes(1);
        for (long dim : dims) {
            if (dim < 0 || (!empty && bytes > Long.MAX_VALUE / dim)) {
                throw new EpArgumentException(
                        "shape",
                        Arrays.toString(dims),
                        "dimensions >= 0 that take less than 2^63 bytes in all",
                        "correct the dimensions");
            }
            bytes *= dim;
        }
        return bytes;
    }

    /** Memory that begins with the first element; it may be longer than the elements. */
    public DeviceMemory memory() {
        return memory;
    }

    /** Address of the first element. */
    public long address() {
        return memory.address();
    }

    /** Type of the elements. */
    public DataType type() {
        return type;
    }

    /** Number of dimensions; 0 for a scalar. */
    public int dimensions() {
        return dims.length;
    }

    /** Size of dimension {@code index}, outermost is 0. */
    public long dim(int index) {
        return dims[index];
    }

    /** Number of elements. */
    public long elements() {
        return byteSize / type.bytes(1);
    }

    /** Bytes that the elements take. */
    public long byteSize() {
        return byteSize;
    }

    /**
     * Returns the part of this tensor that consists of {@code count} places of the outermost dimension from {@code first}
     * on, in the same memory.
     *
     * @throws EpArgumentException when this is a scalar, or the part does not lie inside
     */
    public Tensor rows(long first, long count) {
        long rows = dims.length == 0 ? 0 : dims[0];
        if (dims.length == 0 || first < 0 || count < 0 || first > rows - count) {
            throw new EpArgumentException(
                    "rows",
                    "[" + first + ", " + first + " + " + count + ")",
                    "inside [0, " + rows + ") of " + this,
                    "choose rows inside the tensor");
        }
        long[] part = dims.clone();
        part[0] = count;
        long rowBytes = rows == 0 ? 0 : byteSize / rows;
        return new Tensor(memory.slice(first * rowBytes, count * rowBytes), type, part, count * rowBytes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Tensor that
                && memory.equals(that.memory)
                && type == that.type
                && Arrays.equals(dims, that.dims);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * memory.hashCode() + type.hashCode()) + Arrays.hashCode(dims);
    }

    @Override
    public String toString() {
        return type + Arrays.toString(dims) + "@" + memory.device() + "+0x" + Long.toHexString(memory.address());
    }
}
