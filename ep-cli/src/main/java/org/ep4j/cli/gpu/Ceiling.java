package org.ep4j.cli.gpu;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.ep4j.DeviceMemory;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.Tensor;
import org.ep4j.cli.gpu.GpuInputs.RowTargets;
import org.ep4j.engine.gpu.GpuBufferFacts;
import org.ep4j.gpu.GpuKernel;
import org.ep4j.gpu.GpuKernels;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.KernelDialect;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.transport.memory.DeviceAllocation;

/**
 * The kernels of {@code ceiling.cu} over the memory of a buffer that nothing else uses, so over the paths that the measured
 * buffer has. One thread.
 */
final class Ceiling implements AutoCloseable {
    /** Left for static shared memory, and for what the driver takes of each block. */
    private static final int RESERVED_SHARED_BYTES = 2048;

    /** Warps of a block that push or pull; more than fill the links are of no use. */
    private static final int MOST_WARPS = 24;

    private static final int PULL_WARPS = 7;

    private final EngineGpu device;
    private final int ranks;
    private final int rank;
    private final boolean reachesAll;
    private final long rows;
    private final long flags;
    private final long capacity;
    private final DeviceAllocation table;
    private final PinnedMemory go;
    private final Map<Shape, GpuKernels> modules = new HashMap<>();
    private final Map<Named, GpuKernel> kernels = new HashMap<>();
    private long epoch;

    /**
     * Constants that a module is compiled with.
     *
     * @param rowBytes of a row
     * @param width targets of a token
     * @param pushWarps of a block
     * @param pushPiece bytes that a warp pushes at once
     * @param pullWarps of a block
     * @param pullPiece bytes that a warp pulls at once from each target
     */
    private record Shape(int rowBytes, int width, int pushWarps, int pushPiece, int pullWarps, int pullPiece) {}

    private record Named(Shape shape, String name) {}

    /** Uses the memory of {@code buffer}: its combine input, of which the last row is kept for the gate. */
    Ceiling(EngineGpu device, EpBuffer buffer) {
        GpuBufferFacts facts = GpuBufferFacts.of(buffer)
                .orElseThrow(() -> new EpException("the buffer " + buffer + " is not in GPU memory"));
        this.device = device;
        int own = buffer.group().rank();
        Map<Integer, DeviceMemory> memory = facts.symmetricMemory();
        this.reachesAll = memory.size() == buffer.group().size();
        // Where some are not mapped, the gate is that of this rank alone.
        List<DeviceMemory> reached = reachesAll ? List.copyOf(memory.values()) : List.of(memory.get(own));
        this.ranks = reached.size();
        this.rank = reachesAll ? own : 0;
        Tensor input = buffer.combineInput();
        long rowBytes = 2L * buffer.shape().hidden();
        this.rows = input.memory().address() - reached.get(rank).address();
        this.capacity = input.dim(0) - kept(buffer.group().size(), rowBytes);
        this.flags = rows + capacity * rowBytes;
        this.go = device.allocatePinned(64);
        this.table = device.allocate(8L * ranks);
        ByteBuffer words = ByteBuffer.allocateDirect(8 * ranks).order(ByteOrder.nativeOrder());
        reached.forEach(m -> words.putLong(m.address()));
        device.upload(words.flip(), table.memory());
        // Sums of what happens to lie in memory may be slow numbers; these are not.
        GpuInputs.fill(device, input.memory().slice(0, capacity * rowBytes), new SplittableRandom(7L + rank));
    }

    /** Rows for the words of the gate. */
    static long kept(int ranks, long rowBytes) {
        return (8L * ranks + rowBytes - 1) / rowBytes;
    }

    /** Returns whether rows can be pushed and pulled: this GPU maps the memory of all ranks. */
    boolean reachesAll() {
        return reachesAll;
    }

    /** BF16 rows that a rank has. */
    long capacity() {
        return capacity;
    }

    /** Makes work that is queued on {@code stream} from now on wait until all ranks have called {@link #openGate}. */
    void closeGate(GpuStream stream) {
        epoch++;
        kernel("ceiling_gate", shape(16, 1, 16), 1, 0).launch(stream, 1, arguments(0, 0, 0, 0));
    }

    /** See {@link #closeGate}. */
    void openGate() {
        go.memory().putLongRelease(0, epoch);
    }

    /** Queues a kernel of {@code blocks} blocks that does nothing. */
    void nothing(int blocks, GpuStream stream) {
        kernel("ceiling_empty", shape(16, 1, 16), 1, 0).launch(stream, blocks, arguments(0, 0, 0, 0));
    }

    /**
     * Queues the rows of all tokens to all of their targets.
     *
     * @param piece bytes that a warp moves at once, at most
     */
    void push(long x, int rowBytes, RowTargets targets, int piece, int blocks, GpuStream stream) {
        Shape shape = shape(rowBytes, targets.width(), piece);
        int shared = device.hasBulkCopies() ? shape.pushWarps() * shape.pushPiece() : 0;
        launch("ceiling_push", shape, shape.pushWarps(), shared, x, targets, blocks, stream);
    }

    /** Queues the sums of all tokens' rows; see {@link #push}. */
    void pull(long out, int rowBytes, RowTargets targets, int piece, int blocks, GpuStream stream) {
        Shape shape = shape(rowBytes, targets.width(), piece);
        int shared = device.hasBulkCopies() ? shape.pullWarps() * 2 * shape.width() * shape.pullPiece() : 0;
        launch("ceiling_pull", shape, shape.pullWarps(), shared, out, targets, blocks, stream);
    }

    private void launch(
            String name, Shape shape, int warps, int shared, long x, RowTargets targets, int blocks, GpuStream stream) {
        kernel(name, shape, warps, shared)
                .launch(
                        stream,
                        blocks,
                        arguments(
                                x,
                                targets.rank().address(),
                                targets.row().address(),
                                targets.rank().dim(0)));
    }

    /** Returns the arguments in the order of {@code struct Op}. */
    private long[] arguments(long x, long rankOf, long rowOf, long tokens) {
        return new long[] {
            table.memory().address(), rows, flags, x, rankOf, rowOf, tokens, go.deviceAddress(), epoch, rank
        };
    }

    private Shape shape(int rowBytes, int width, int piece) {
        int shared = device.info().sharedBytes() - RESERVED_SHARED_BYTES;
        if (!device.hasBulkCopies()) {
            return new Shape(rowBytes, width, MOST_WARPS, rowBytes, MOST_WARPS, rowBytes);
        }
        int pushPiece = even(rowBytes, piece);
        int pushWarps = Math.max(1, Math.min(MOST_WARPS, shared / pushPiece));
        int pullPiece = even(rowBytes, Math.max(16, Math.min(piece, shared / (PULL_WARPS * 2 * width))));
        return new Shape(rowBytes, width, pushWarps, pushPiece, PULL_WARPS, pullPiece);
    }

    /** Pieces of nearly the same size, each at most {@code most} and a multiple of 16. */
    private static int even(int bytes, int most) {
        int limit = most / 16 * 16;
        int pieces = (bytes + limit - 1) / limit;
        int piece = (bytes + pieces - 1) / pieces;
        return (piece + 15) / 16 * 16;
    }

    private GpuKernel kernel(String name, Shape shape, int warps, int sharedBytes) {
        return kernels.computeIfAbsent(
                new Named(shape, name),
                key -> modules.computeIfAbsent(shape, s -> device.compile("ceiling.cu", source(s)))
                        .kernel(name, warps * device.info().warpSize(), sharedBytes));
    }

    private String source(Shape shape) {
        return "#define EP_RANKS " + ranks
                + "\n#define EP_ROW_BYTES " + shape.rowBytes()
                + "\n#define EP_TARGETS " + shape.width()
                + "\n#define EP_PUSH_WARPS " + shape.pushWarps()
                + "\n#define EP_PUSH_PIECE " + shape.pushPiece()
                + "\n#define EP_PULL_WARPS " + shape.pullWarps()
                + "\n#define EP_PULL_PIECE " + shape.pullPiece()
                + "\n#line 1 \"ceiling.cu\"\n"
                + KernelDialect.text("ceiling.cu", Ceiling.class.getResourceAsStream("ceiling.cu"));
    }

    @Override
    public void close() {
        modules.values().forEach(GpuKernels::close);
        go.close();
        table.close();
    }
}
