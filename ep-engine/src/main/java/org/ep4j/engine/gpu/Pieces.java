package org.ep4j.engine.gpu;

import org.ep4j.EpShape;
import org.ep4j.engine.layout.BufferLayout;

/** How the kernels of high throughput divide their work; macros of the same names in the kernels. */
final class Pieces {
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

    private Pieces() {}

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
    static long counts(EpShape shape, int ranks) {
        int chunk = chunk(shape, ranks);
        return Math.max(
                (shape.maxTokens() + SLICE - 1L) / SLICE * ranks,
                (capacity(shape, ranks) + chunk - 1) / chunk * shape.experts());
    }

    private static long capacity(EpShape shape, int ranks) {
        return shape.maxTokens() == 0 ? 0 : shape.receiveCapacity(ranks);
    }

    /** True where records go through shared memory, if there are bulk copies at all. */
    static boolean stagesRecords(EpShape shape, BufferLayout layout, int ranks) {
        return (long) targets(shape, ranks) * layout.recordBytes() <= MOST_RECORD_BYTES;
    }

    private static int targets(EpShape shape, int ranks) {
        return Math.min(shape.topK(), ranks);
    }

    /** Shared memory of a block that can be given to its warps; the rest is for what its threads share by themselves. */
    static int roomBytes(GpuFacts facts, int ranks) {
        return facts.sharedBytes() - OTHER_SHARED_BYTES - 12 * ranks;
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
}
