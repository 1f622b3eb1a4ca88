package org.ep4j.engine.gpu;

import org.ep4j.EpShape;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.gpu.driver.EngineGpu;

/**
 * Sizes that host and kernels share: handles, temporary memory, and the division of work and shared memory in kernels of high
 * throughput. The macros EP_CHUNK, EP_PIECE and EP_STAGED_RECORDS of the kernels have the same values.
 */
final class KernelSizes {
    /** Most bytes of a row that a warp holds in shared memory at once; longer rows go in pieces. */
    static final int PIECE = 16 * 1024;

    /** Limit for the records of a token that are written in shared memory first. */
    private static final int MOST_RECORD_BYTES = 16 * 1024;

    /** Rows that one warp counts. */
    private static final int CHUNK = 64;

    /** Counts of all chunks together stay below 64 MB; with more experts, chunks are larger. */
    private static final long MOST_CHUNK_COUNTS = 1 << 24;

    /** Tokens whose places a warp counts at a time, one a lane; some GPUs have twice as many lanes. */
    private static final int SLICE = 32;

    /** Limit that keeps 28 bytes for each rank below 48 KiB of shared memory. */
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

    /** Bytes of device memory for counts and prefixes of one operation, unused between operations. */
    static long temporaryBytes(EpShape shape, int ranks) {
        // The largest: a histogram of the local experts for every 256 rows that can be received.
        long rows = Math.max(capacity(shape, ranks), ShapeSizes.lowLatencyRows(shape, ranks));
        long chunks = (rows + 255) / 256 + 1;
        long counts = Math.max(chunks * shape.experts() + 2L * shape.experts() * ranks, counts(shape, ranks));
        return 4 * (counts + 4096 + (ranks + 63L) / 64 * 64);
    }

    /** Rows of a chunk, for which the selections of each expert are counted. */
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

    /** Returns whether records go through shared memory if there are bulk copies. */
    static boolean stagesRecords(EpShape shape, BufferLayout layout, int ranks) {
        return (long) targets(shape, ranks) * layout.recordBytes() <= MOST_RECORD_BYTES;
    }

    private static int targets(EpShape shape, int ranks) {
        return Math.min(shape.topK(), ranks);
    }

    /** Shared memory of a block for its warps; the rest is for what all its threads share. */
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
     * Shared memory of a block of a kernel of {@code ht_combine.cu}, into which pieces of rows are copied.
     *
     * @param bytes of a piece; the last one of a row may be shorter
     * @param slots pieces for which a warp has room
     */
    record RowPieces(int warps, int bytes, int slots) {
        /** Many warps with small pieces are the fastest: 4 H200 measured with 7 to 16 warps. */
        private static final int SUM_WARPS = 16;

        private static final int SUM_BYTES = 1024;

        private static final int COPY_WARPS = 14;

        /** Without bulk copies threads wait for their loads. */
        private static final int PLAIN_WARPS = 16;

        /** Shared memory of a block of sums beside its pieces: barriers, and the start of the rows and weights of each rank. */
        private static final int BARRIER_BYTES = SUM_WARPS * 8 * Long.BYTES;

        private static final int BYTES_OF_RANK = 2 * Long.BYTES;

        private static final int UNIT = 16;

        /** Creates the pieces of kernels that sum up to {@code rows} rows. */
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

        /** Creates the pieces of kernels that copy rows, one at a time in each warp. */
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
