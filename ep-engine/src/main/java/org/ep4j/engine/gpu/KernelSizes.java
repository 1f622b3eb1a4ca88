package org.ep4j.engine.gpu;

import org.ep4j.EpShape;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.gpu.driver.EngineGpu;

/**
 * Sizes that host and kernels agree on: handles, temporary memory, and how kernels of high throughput divide their work and
 * shared memory. The macros EP_CHUNK, EP_PIECE and EP_STAGED_RECORDS of the kernels have the same values.
 */
final class KernelSizes {
    /** Most bytes of a row that a warp holds in shared memory at once; longer rows go in pieces. */
    static final int PIECE = 16 * 1024;

    /** Records are put together in shared memory while all of a token's fit into so many bytes. */
    private static final int MOST_RECORD_BYTES = 16 * 1024;

    /** Rows that a warp counts by itself. */
    private static final int CHUNK = 64;

    /** Counts of all chunks together stay below 64 MB; with more experts, chunks are larger. */
    private static final long MOST_CHUNK_COUNTS = 1 << 24;

    /** Tokens whose places a warp counts at a time, one a lane; some GPUs have twice as many lanes. */
    private static final int SLICE = 32;

    /** What a block knows of each rank, 28 bytes, stays below 48 KiB of shared memory. */
    static final int MOST_RANKS = 1700;

    private static final int OTHER_SHARED_BYTES = 12 * 1024;

    private KernelSizes() {}

    /** Bytes of a high-throughput handle in device memory, by the formula of {@code EP_HANDLE_BYTES} in {@code op.cu}. */
    static long handleBytes(EpShape shape, int ranks) {
        if (shape.maxTokens() == 0) {
            return 0;
        }
        long selections = (long) shape.maxTokens() * shape.topK();
        long capacity = ShapeSizes.receivedRows(shape, ranks);
        return 256
                + 3 * aligned(4 * selections)
                + 2 * aligned(4 * capacity)
                + 2 * aligned(4 * capacity * shape.topK())
                + aligned(4L * ranks)
                + aligned(4L * shape.experts())
                + aligned(8L * (shape.experts() + 1))
                + 3 * aligned(4L * ranks);
    }

    /** Bytes of a low-latency handle in device memory, by the formula of {@code EP_LL_HANDLE_BYTES} in {@code op.cu}. */
    static long lowLatencyHandleBytes(EpShape shape, int ranks) {
        if (shape.maxLowLatencyTokens() == 0) {
            return 0;
        }
        long selections = (long) shape.maxLowLatencyTokens() * shape.topK();
        long messages = ShapeSizes.lowLatencyRows(shape, ranks);
        return 256
                + 3 * aligned(4 * selections)
                + aligned(4L * ranks)
                + aligned(4 * messages)
                + 2 * aligned(4 * messages * shape.topK());
    }

    private static long aligned(long bytes) {
        return (bytes + 255) / 256 * 256;
    }

    /** Bytes of device memory for counts and prefixes of one operation, which holds nothing between operations. */
    static long temporaryBytes(EpShape shape, int ranks) {
        // The most demanding: a histogram of the local experts for every 256 rows that can be received.
        long rows = Math.max(capacity(shape, ranks), ShapeSizes.lowLatencyRows(shape, ranks));
        long chunks = (rows + 255) / 256 + 1;
        long counts = Math.max(chunks * shape.experts() + 2L * shape.experts() * ranks, counts(shape, ranks));
        return 4 * (counts + 4096 + (ranks + 63L) / 64 * 64);
    }

    /** Rows of a chunk, by which selections of each expert are counted. */
    static int chunk(EpShape shape, int ranks) {
        long capacity = capacity(shape, ranks);
        int chunk = CHUNK;
        while (chunk < capacity && (capacity + chunk - 1) / chunk * shape.experts() > MOST_CHUNK_COUNTS) {
            chunk *= 2;
        }
        return chunk;
    }

    /** Counts that are kept between the kernels of a dispatch. */
    private static long counts(EpShape shape, int ranks) {
        int chunk = chunk(shape, ranks);
        return Math.max(
                (shape.maxTokens() + SLICE - 1L) / SLICE * ranks,
                (capacity(shape, ranks) + chunk - 1) / chunk * shape.experts());
    }

    private static long capacity(EpShape shape, int ranks) {
        return shape.maxTokens() == 0 ? 0 : ShapeSizes.receivedRows(shape, ranks);
    }

    /** True where records go through shared memory, if there are bulk copies at all. */
    static boolean stagesRecords(EpShape shape, BufferLayout layout, int ranks) {
        return (long) targets(shape, ranks) * layout.recordBytes() <= MOST_RECORD_BYTES;
    }

    private static int targets(EpShape shape, int ranks) {
        return Math.min(shape.topK(), ranks);
    }

    /** Shared memory of a block that can be given to its warps; the rest is for what its threads share by themselves. */
    static int roomBytes(EngineGpu device, int ranks) {
        return device.info().sharedBytes() - OTHER_SHARED_BYTES - 12 * ranks;
    }

    /** Shared memory that a warp needs to move rows of {@code rowBytes}. */
    static int rowStage(int rowBytes) {
        return Math.min(rowBytes, PIECE);
    }

    /** Shared memory that a warp needs to send rows with their records. */
    static int sendStage(EpShape shape, BufferLayout layout, int ranks, boolean fp8) {
        int rowBytes = fp8 ? shape.hidden() : 2 * shape.hidden();
        int recordBytes = fp8 ? layout.recordBytes() : (4 + 8 * shape.topK() + 15) / 16 * 16;
        return rowStage(rowBytes) + (stagesRecords(shape, layout, ranks) ? targets(shape, ranks) * recordBytes : 0);
    }

    /**
     * Shared memory of a block of a kernel of {@code ht_combine.cu}, in which pieces of rows arrive.
     *
     * @param warps of a block
     * @param bytes of a row that are moved at a time; the last piece of a row may be shorter
     * @param slots pieces for which a warp has room
     */
    record RowPieces(int warps, int bytes, int slots) {
        /** Many warps with small pieces are the fastest: 4 H200 measured with 7 to 16 warps. */
        private static final int SUM_WARPS = 16;

        private static final int SUM_BYTES = 1024;

        private static final int COPY_WARPS = 14;

        /** Without bulk copies threads wait for what they have asked for. */
        private static final int PLAIN_WARPS = 16;

        /** What a block of sums needs beside its pieces: barriers, and where the rows and the weights of each rank begin. */
        private static final int BARRIER_BYTES = SUM_WARPS * 8 * Long.BYTES;

        private static final int BYTES_OF_RANK = 2 * Long.BYTES;

        private static final int UNIT = 16;

        /**
         * For sums of rows.
         *
         * @param rows most rows that are added up to one
         */
        static RowPieces forSums(EngineGpu device, int rowBytes, int rows, int ranks) {
            if (!device.hasBulkCopies()) {
                // Room for the addresses of the rows.
                return new RowPieces(PLAIN_WARPS * 32 / device.info().warpSize(), Long.BYTES, rows);
            }
            int room = (roomBytes(device, ranks) - BARRIER_BYTES - BYTES_OF_RANK * ranks) / SUM_WARPS;
            int most = Math.max(UNIT, Math.min(SUM_BYTES, room / rows / UNIT * UNIT));
            // All pieces of a row have about the same size.
            int pieces = (rowBytes + most - 1) / most;
            int bytes = ((rowBytes + pieces - 1) / pieces + UNIT - 1) / UNIT * UNIT;
            return new RowPieces(SUM_WARPS, bytes, room / bytes);
        }

        /** For copies of rows, one at a time for every warp. */
        static RowPieces forCopies(EngineGpu device, int rowBytes, int ranks) {
            if (!device.hasBulkCopies()) {
                return new RowPieces(PLAIN_WARPS * 32 / device.info().warpSize(), 0, 0);
            }
            int stage = rowStage(rowBytes);
            return new RowPieces(Math.max(1, Math.min(COPY_WARPS, roomBytes(device, ranks) / stage)), stage, 1);
        }

        int sharedBytes() {
            return warps * bytes * slots;
        }

        /** {@code Op.extra}. */
        long packed() {
            return (long) slots << 32 | bytes;
        }
    }
}
