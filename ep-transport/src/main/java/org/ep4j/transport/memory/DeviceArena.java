package org.ep4j.transport.memory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.function.LongFunction;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpDevice;
import org.ep4j.EpStateException;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.jspecify.annotations.Nullable;

/** The allocations of an arena. Not safe for use from several threads. */
public final class DeviceArena implements TensorArena {
    private static final long ALIGNMENT = 256;

    private final EpDevice device;
    private final LongFunction<DeviceAllocation> allocate;
    private final Deque<DeviceAllocation> allocations = new ArrayDeque<>();
    private boolean closed;

    /**
     * Creates an arena without memory.
     *
     * @param allocate gives zeroed memory of {@code device}, aligned as a {@link TensorArena} promises
     */
    public DeviceArena(EpDevice device, LongFunction<DeviceAllocation> allocate) {
        this.device = device;
        this.allocate = allocate;
    }

    @Override
    public DeviceMemory memory(long bytes) {
        if (closed) {
            throw new EpStateException("the arena is closed; keep it open until its last use");
        }
        // An empty range has an address too, so that it is known when the arena is closed.
        DeviceAllocation allocation = allocate.apply(bytes == 0 ? 1 : bytes);
        allocations.push(allocation);
        return allocation.memory().slice(0, bytes);
    }

    @Override
    public Tensor tensor(DataType type, long... dims) {
        // Wherever it will be, it has this size, or is refused.
        long bytes = Tensor.at(ALIGNMENT, device.id(), type, dims).byteSize();
        return Tensor.of(memory(bytes), type, dims);
    }

    @Override
    public Tensor bf16(float[] values, long... dims) {
        ByteBuffer bytes = buffer(DataType.BF16, values.length, dims);
        for (float value : values) {
            bytes.putShort(DataType.toBf16(value));
        }
        return upload(bytes.flip(), DataType.BF16, dims);
    }

    @Override
    public Tensor fp32(float[] values, long... dims) {
        ByteBuffer bytes = buffer(DataType.FP32, values.length, dims);
        bytes.asFloatBuffer().put(values);
        return upload(bytes, DataType.FP32, dims);
    }

    @Override
    public Tensor int32(int[] values, long... dims) {
        ByteBuffer bytes = buffer(DataType.INT32, values.length, dims);
        bytes.asIntBuffer().put(values);
        return upload(bytes, DataType.INT32, dims);
    }

    @Override
    public Tensor int64(long[] values, long... dims) {
        ByteBuffer bytes = buffer(DataType.INT64, values.length, dims);
        bytes.asLongBuffer().put(values);
        return upload(bytes, DataType.INT64, dims);
    }

    private ByteBuffer buffer(DataType type, int values, long[] dims) {
        long elements = Tensor.at(ALIGNMENT, device.id(), type, dims).elements();
        if (values != elements) {
            throw new EpArgumentException(
                    "values",
                    values + " elements",
                    elements + " elements for " + Arrays.toString(dims),
                    "pass one value for each element");
        }
        if (type.bytes(values) > Integer.MAX_VALUE) {
            throw new EpArgumentException(
                    "values",
                    type.bytes(values) + " bytes",
                    "at most " + Integer.MAX_VALUE + " bytes",
                    "allocate the tensor without values and upload its parts");
        }
        return ByteBuffer.allocateDirect((int) type.bytes(values)).order(ByteOrder.nativeOrder());
    }

    private Tensor upload(ByteBuffer values, DataType type, long[] dims) {
        Tensor tensor = tensor(type, dims);
        device.upload(values, tensor.memory());
        return tensor;
    }

    @Override
    public void close() {
        closed = true;
        @Nullable RuntimeException failure = null;
        while (!allocations.isEmpty()) {
            try {
                allocations.pop().close();
            } catch (RuntimeException e) {
                // The first one says why: once a GPU has failed, it fails all that follows in the same way.
                failure = failure == null ? e : failure;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
