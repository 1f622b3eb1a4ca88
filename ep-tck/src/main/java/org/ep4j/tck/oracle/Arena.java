package org.ep4j.tck.oracle;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.ep4j.DataType;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpDevice;
import org.ep4j.EpEvent;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuStream;

/**
 * Tensors on one device, filled from and copied to heap arrays by {@link EpDevice#upload} and {@link EpDevice#download};
 * freed together. Not safe for use from several threads.
 */
public final class Arena implements AutoCloseable {
    private static final int CHUNK = 1 << 19;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final EpDevice device;
    private final List<DeviceAllocation> allocations = new ArrayList<>();
    private final List<GpuStream> streams = new ArrayList<>();
    private final List<EpEvent> writers = new ArrayList<>();
    private final ByteBuffer staging = ByteBuffer.allocateDirect(CHUNK).order(ByteOrder.nativeOrder());

    /** Works on one row. */
    @FunctionalInterface
    public interface RowVisitor<A> {
        /** Reads or fills row {@code row}. */
        void visit(int row, A values);
    }

    /** An arena on {@code device}, which stays open. */
    public Arena(EpDevice device) {
        this.device = device;
    }

    /** The device. */
    public EpDevice device() {
        return device;
    }

    /** New zeroed memory; {@code dims} outermost first. */
    public Tensor allocate(DataType type, long... dims) {
        List<Long> shape = new ArrayList<>();
        for (long dim : dims) {
            shape.add(dim);
        }
        long bytes = Tensor.bytes(type, shape);
        // Freeing what other libraries may have would wait for all kernels of the GPU, those of other ranks and buffers
        // too.
        long size = Math.max(bytes, 1);
        DeviceAllocation allocation =
                device instanceof GpuDevice gpu ? gpu.allocatePrivate(size) : device.allocate(size);
        allocations.add(allocation);
        return new Tensor(allocation.memory().slice(0, bytes), type, shape);
    }

    /** New memory with these values. */
    public Tensor ints(int[] values, long... dims) {
        Tensor tensor = allocate(DataType.INT32, dims);
        upload(tensor, values);
        return tensor;
    }

    /** New memory with these values as 64-bit integers. */
    public Tensor longs(int[] values, long... dims) {
        Tensor tensor = allocate(DataType.INT64, dims);
        ByteBuffer bytes = ByteBuffer.allocateDirect(values.length * 8).order(ByteOrder.nativeOrder());
        for (int value : values) {
            bytes.putLong(value);
        }
        device.upload(bytes.flip(), tensor.memory());
        return tensor;
    }

    /** New memory with these values. */
    public Tensor floats(float[] values, long... dims) {
        Tensor tensor = allocate(DataType.FP32, dims);
        upload(tensor, values);
        return tensor;
    }

    /** Overwrites a tensor of INT32. */
    public void upload(Tensor tensor, int[] values) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(values.length * 4).order(ByteOrder.nativeOrder());
        bytes.asIntBuffer().put(values);
        device.upload(bytes, tensor.memory());
    }

    /** Overwrites a tensor of FP32. */
    public void upload(Tensor tensor, float[] values) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(values.length * 4).order(ByteOrder.nativeOrder());
        bytes.asFloatBuffer().put(values);
        device.upload(bytes, tensor.memory());
    }

    /** Fills {@code [rows, n]} of a two-byte type row by row. */
    public void fillShorts(Tensor tensor, RowVisitor<short[]> source) {
        short[] row = new short[rowElements(tensor)];
        fill(tensor, (index, bytes) -> {
            source.visit(index, row);
            bytes.asShortBuffer().put(row);
        });
    }

    /** Fills {@code [rows, n]} of a one-byte type row by row. */
    public void fillBytes(Tensor tensor, RowVisitor<byte[]> source) {
        byte[] row = new byte[rowElements(tensor)];
        fill(tensor, (index, bytes) -> {
            source.visit(index, row);
            bytes.put(row);
        });
    }

    /** Fills {@code [rows, n]} FP32 row by row. */
    public void fillFloats(Tensor tensor, RowVisitor<float[]> source) {
        float[] row = new float[rowElements(tensor)];
        fill(tensor, (index, bytes) -> {
            source.visit(index, row);
            bytes.asFloatBuffer().put(row);
        });
    }

    /** Reads {@code [rows, n]} of a two-byte type row by row, the first {@code rows} of them. */
    public void readShorts(Tensor tensor, int rows, RowVisitor<short[]> sink) {
        short[] row = new short[rowElements(tensor)];
        read(tensor, rows, (index, bytes) -> {
            bytes.asShortBuffer().get(row);
            sink.visit(index, row);
        });
    }

    /** Reads {@code [rows, n]} of a one-byte type row by row, the first {@code rows} of them. */
    public void readBytes(Tensor tensor, int rows, RowVisitor<byte[]> sink) {
        byte[] row = new byte[rowElements(tensor)];
        read(tensor, rows, (index, bytes) -> {
            bytes.get(row);
            sink.visit(index, row);
        });
    }

    /** Reads {@code [rows, n]} FP32 row by row, the first {@code rows} of them. */
    public void readFloats(Tensor tensor, int rows, RowVisitor<float[]> sink) {
        float[] row = new float[rowElements(tensor)];
        read(tensor, rows, (index, bytes) -> {
            bytes.asFloatBuffer().get(row);
            sink.visit(index, row);
        });
    }

    /** All elements of an INT32 tensor. */
    public int[] readInts(Tensor tensor) {
        int[] values = new int[Math.toIntExact(tensor.elements())];
        download(tensor.memory(), tensor.byteSize()).asIntBuffer().get(values);
        return values;
    }

    /** All elements of an INT64 tensor. */
    public long[] readLongs(Tensor tensor) {
        long[] values = new long[Math.toIntExact(tensor.elements())];
        download(tensor.memory(), tensor.byteSize()).asLongBuffer().get(values);
        return values;
    }

    /** All elements of an INT32 or INT64 tensor of ids. */
    public long[] readIds(Tensor tensor) {
        if (tensor.type() == DataType.INT64) {
            return readLongs(tensor);
        }
        int[] narrow = readInts(tensor);
        long[] values = new long[narrow.length];
        for (int i = 0; i < narrow.length; i++) {
            values[i] = narrow[i];
        }
        return values;
    }

    /** All elements of an FP32 tensor. */
    public float[] readFloats(Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.elements())];
        download(tensor.memory(), tensor.byteSize()).asFloatBuffer().get(values);
        return values;
    }

    /** All bytes of a tensor. */
    public byte[] readRaw(Tensor tensor) {
        byte[] values = new byte[Math.toIntExact(tensor.byteSize())];
        download(tensor.memory(), tensor.byteSize()).get(values);
        return values;
    }

    /** Part {@code index} of a tensor along its outermost dimension, without that dimension. */
    public static Tensor part(Tensor tensor, int index) {
        List<Long> inner = tensor.shape().subList(1, tensor.shape().size());
        long bytes = Tensor.bytes(tensor.type(), inner);
        return new Tensor(tensor.memory().slice(index * bytes, bytes), tensor.type(), inner);
    }

    /** Memory stays until {@code writer}, which writes to it, has come. */
    public void keepUntil(EpEvent writer) {
        writers.add(writer);
    }

    /** A stream of a GPU, which is destroyed with the memory. */
    public long stream(GpuDevice gpu) {
        GpuStream made = gpu.createStream();
        streams.add(made);
        return made.handle();
    }

    /** Frees everything. */
    @Override
    public void close() {
        writers.forEach(writer -> writer.await(Patience.here(PATIENCE)));
        writers.clear();
        streams.forEach(GpuStream::close);
        streams.clear();
        allocations.forEach(DeviceAllocation::close);
        allocations.clear();
    }

    private ByteBuffer download(DeviceMemory memory, long bytes) {
        ByteBuffer target = ByteBuffer.allocateDirect(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
        if (bytes > 0) {
            device.download(memory, target);
        }
        return target.clear();
    }

    private static int rowElements(Tensor tensor) {
        return Math.toIntExact(tensor.dim(tensor.shape().size() - 1));
    }

    private static long rows(Tensor tensor) {
        return rowElements(tensor) == 0 ? 0 : tensor.elements() / rowElements(tensor);
    }

    private void fill(Tensor tensor, RowVisitor<ByteBuffer> row) {
        chunks(tensor, rows(tensor), (first, count, rowBytes) -> {
            for (int i = 0; i < count; i++) {
                row.visit(first + i, rowOf(i, rowBytes));
            }
            staging.clear().limit(count * rowBytes);
            device.upload(staging, tensor.memory().slice((long) first * rowBytes, (long) count * rowBytes));
        });
    }

    private void read(Tensor tensor, int rows, RowVisitor<ByteBuffer> row) {
        chunks(tensor, rows, (first, count, rowBytes) -> {
            staging.clear().limit(count * rowBytes);
            device.download(tensor.memory().slice((long) first * rowBytes, (long) count * rowBytes), staging);
            for (int i = 0; i < count; i++) {
                row.visit(first + i, rowOf(i, rowBytes));
            }
        });
    }

    private ByteBuffer rowOf(int index, int rowBytes) {
        staging.clear();
        return staging.slice(index * rowBytes, rowBytes).order(ByteOrder.nativeOrder());
    }

    @FunctionalInterface
    private interface Chunk {
        void run(int first, int count, int rowBytes);
    }

    private static void chunks(Tensor tensor, long rows, Chunk chunk) {
        int rowBytes = rowElements(tensor) * tensor.type().bytes();
        int atOnce = Math.max(1, CHUNK / Math.max(1, rowBytes));
        for (int first = 0; first < rows; first += atOnce) {
            chunk.run(first, (int) Math.min(atOnce, rows - first), rowBytes);
        }
    }
}
