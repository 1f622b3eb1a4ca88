package org.ep4j.tck.oracle;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import org.ep4j.DataType;
import org.ep4j.EpDevice;
import org.ep4j.EpEvent;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuStream;

/**
 * Tensors on one device, filled and read row by row, and freed together, with the streams that write to them. Not safe for use
 * from several threads.
 */
public final class Arena implements AutoCloseable {
    private static final int CHUNK = 1 << 19;
    private static final Duration WRITE = Duration.ofSeconds(60);

    private final EpDevice device;
    private final TensorArena memory;
    private final List<GpuStream> streams = new ArrayList<>();
    private final List<EpEvent> writers = new ArrayList<>();
    private final ByteBuffer staging = ByteBuffer.allocateDirect(CHUNK).order(ByteOrder.nativeOrder());

    /** Reads or fills one row. */
    @FunctionalInterface
    public interface RowVisitor<A> {
        /** Reads or fills the values of {@code row}. */
        void visit(int row, A values);
    }

    /** Creates an arena on {@code device}, which stays open. */
    public Arena(EpDevice device) {
        this.device = device;
        this.memory = device.arena();
    }

    /** Returns the device. */
    public EpDevice device() {
        return device;
    }

    /** Allocates zeroed memory; {@code dims} outermost first. */
    public Tensor allocate(DataType type, long... dims) {
        return memory.tensor(type, dims);
    }

    /** Allocates memory with these values. */
    public Tensor ints(int[] values, long... dims) {
        return memory.int32(values, dims);
    }

    /** Allocates memory with these values as 64-bit integers. */
    public Tensor longs(int[] values, long... dims) {
        return memory.int64(Arrays.stream(values).asLongStream().toArray(), dims);
    }

    /** Allocates memory with these values. */
    public Tensor floats(float[] values, long... dims) {
        return memory.fp32(values, dims);
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
        fill(
                tensor,
                new short[rowElements(tensor)],
                source,
                (bytes, row) -> bytes.asShortBuffer().put(row));
    }

    /** Fills {@code [rows, n]} of a one-byte type row by row. */
    public void fillBytes(Tensor tensor, RowVisitor<byte[]> source) {
        fill(tensor, new byte[rowElements(tensor)], source, (bytes, row) -> bytes.put(row));
    }

    /** Fills {@code [rows, n]} FP32 row by row. */
    public void fillFloats(Tensor tensor, RowVisitor<float[]> source) {
        fill(
                tensor,
                new float[rowElements(tensor)],
                source,
                (bytes, row) -> bytes.asFloatBuffer().put(row));
    }

    /** Reads {@code [rows, n]} of a two-byte type row by row, the first {@code rows} of them. */
    public void readShorts(Tensor tensor, int rows, RowVisitor<short[]> sink) {
        read(
                tensor,
                rows,
                new short[rowElements(tensor)],
                sink,
                (bytes, row) -> bytes.asShortBuffer().get(row));
    }

    /** Reads {@code [rows, n]} of a one-byte type row by row, the first {@code rows} of them. */
    public void readBytes(Tensor tensor, int rows, RowVisitor<byte[]> sink) {
        read(tensor, rows, new byte[rowElements(tensor)], sink, (bytes, row) -> bytes.get(row));
    }

    /** Reads {@code [rows, n]} FP32 row by row, the first {@code rows} of them. */
    public void readFloats(Tensor tensor, int rows, RowVisitor<float[]> sink) {
        read(
                tensor,
                rows,
                new float[rowElements(tensor)],
                sink,
                (bytes, row) -> bytes.asFloatBuffer().get(row));
    }

    /** Returns all elements of an INT32 or INT64 tensor of ids. */
    public long[] readIds(Tensor tensor) {
        return tensor.type() == DataType.INT64
                ? device.longs(tensor)
                : Arrays.stream(device.ints(tensor)).asLongStream().toArray();
    }

    /** Returns all bytes of a tensor. */
    public byte[] readRaw(Tensor tensor) {
        byte[] values = new byte[Math.toIntExact(tensor.byteSize())];
        if (values.length > 0) {
            device.download(tensor.memory(), ByteBuffer.wrap(values));
        }
        return values;
    }

    /** Returns part {@code index} of a tensor along its outermost dimension, without that dimension. */
    public static Tensor part(Tensor tensor, int index) {
        long[] inner =
                IntStream.range(1, tensor.dimensions()).mapToLong(tensor::dim).toArray();
        return Tensor.of(tensor.rows(index, 1).memory(), tensor.type(), inner);
    }

    /** Keeps the memory until {@code writer}, the event of a write to it, is done. */
    public void keepUntil(EpEvent writer) {
        writers.add(writer);
    }

    /** Creates a stream of the device, which is a GPU; destroyed with the memory. */
    public long stream() {
        GpuStream made = GpuDevice.of(device).createStream();
        streams.add(made);
        return made.handle();
    }

    /** Frees all memory and streams. */
    @Override
    public void close() {
        writers.forEach(writer -> writer.await(Patience.scaled(WRITE)));
        writers.clear();
        streams.forEach(GpuStream::close);
        streams.clear();
        memory.close();
    }

    private static int rowElements(Tensor tensor) {
        return Math.toIntExact(tensor.dim(tensor.dimensions() - 1));
    }

    private static long rows(Tensor tensor) {
        return rowElements(tensor) == 0 ? 0 : tensor.elements() / rowElements(tensor);
    }

    private <A> void fill(Tensor tensor, A row, RowVisitor<A> source, BiConsumer<ByteBuffer, A> put) {
        chunks(tensor, rows(tensor), (first, count, rowBytes) -> {
            for (int i = 0; i < count; i++) {
                source.visit(first + i, row);
                put.accept(rowOf(i, rowBytes), row);
            }
            staging.clear().limit(count * rowBytes);
            device.upload(staging, tensor.memory().slice((long) first * rowBytes, (long) count * rowBytes));
        });
    }

    private <A> void read(Tensor tensor, int rows, A row, RowVisitor<A> sink, BiConsumer<ByteBuffer, A> get) {
        chunks(tensor, rows, (first, count, rowBytes) -> {
            staging.clear().limit(count * rowBytes);
            device.download(tensor.memory().slice((long) first * rowBytes, (long) count * rowBytes), staging);
            for (int i = 0; i < count; i++) {
                get.accept(rowOf(i, rowBytes), row);
                sink.visit(first + i, row);
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
        int rowBytes = (int) tensor.type().bytes(rowElements(tensor));
        int atOnce = Math.max(1, CHUNK / Math.max(1, rowBytes));
        for (int first = 0; first < rows; first += atOnce) {
            chunk.run(first, (int) Math.min(atOnce, rows - first), rowBytes);
        }
    }
}
