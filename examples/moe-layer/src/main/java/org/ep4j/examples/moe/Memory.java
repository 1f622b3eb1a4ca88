package org.ep4j.examples.moe;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.ep4j.DataType;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpDevice;
import org.ep4j.Tensor;

/** Tensors of one device, filled from arrays and read into them; freed together. The same on every kind of device. */
final class Memory implements AutoCloseable {
    private final EpDevice device;
    private final List<DeviceAllocation> allocations = new ArrayList<>();

    Memory(EpDevice device) {
        this.device = device;
    }

    Tensor allocate(DataType type, long... dims) {
        long bytes = type.bytes();
        for (long dim : dims) {
            bytes *= dim;
        }
        DeviceAllocation allocation = device.allocate(Math.max(1, bytes));
        allocations.add(allocation);
        return Tensor.of(allocation.memory().slice(0, bytes), type, dims);
    }

    Tensor shorts(short[] values, long... dims) {
        Tensor tensor = allocate(DataType.BF16, dims);
        write(tensor, values);
        return tensor;
    }

    void write(Tensor tensor, short[] values) {
        ByteBuffer bytes = direct(2L * values.length);
        bytes.asShortBuffer().put(values);
        device.upload(bytes, tensor.memory());
    }

    Tensor ints(int[] values, long... dims) {
        ByteBuffer bytes = direct(4L * values.length);
        bytes.asIntBuffer().put(values);
        Tensor tensor = allocate(DataType.INT32, dims);
        device.upload(bytes, tensor.memory());
        return tensor;
    }

    Tensor floats(float[] values, long... dims) {
        ByteBuffer bytes = direct(4L * values.length);
        bytes.asFloatBuffer().put(values);
        Tensor tensor = allocate(DataType.FP32, dims);
        device.upload(bytes, tensor.memory());
        return tensor;
    }

    short[] readShorts(Tensor tensor) {
        short[] values = new short[Math.toIntExact(tensor.elements())];
        read(tensor).asShortBuffer().get(values);
        return values;
    }

    int[] readInts(Tensor tensor) {
        int[] values = new int[Math.toIntExact(tensor.elements())];
        read(tensor).asIntBuffer().get(values);
        return values;
    }

    float[] readFloats(Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.elements())];
        read(tensor).asFloatBuffer().get(values);
        return values;
    }

    long[] readLongs(Tensor tensor) {
        long[] values = new long[Math.toIntExact(tensor.elements())];
        read(tensor).asLongBuffer().get(values);
        return values;
    }

    private ByteBuffer read(Tensor tensor) {
        ByteBuffer bytes = direct(tensor.byteSize());
        device.download(tensor.memory(), bytes);
        return bytes.clear();
    }

    private static ByteBuffer direct(long bytes) {
        return ByteBuffer.allocateDirect(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
    }

    @Override
    public void close() {
        allocations.forEach(DeviceAllocation::close);
    }
}
