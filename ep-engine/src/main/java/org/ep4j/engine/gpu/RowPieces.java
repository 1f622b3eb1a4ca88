package org.ep4j.engine.gpu;

/**
 * How the blocks of a kernel of {@code ht_combine.cu} divide their shared memory, in which pieces of rows arrive.
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
    static RowPieces forSums(GpuFacts facts, int rowBytes, int rows, int ranks) {
        if (!facts.bulk()) {
            // Room for the addresses of the rows.
            return new RowPieces(PLAIN_WARPS * 32 / facts.lanes(), Long.BYTES, rows);
        }
        int room = (Pieces.roomBytes(facts, ranks) - BARRIER_BYTES - BYTES_OF_RANK * ranks) / SUM_WARPS;
        int most = Math.max(UNIT, Math.min(SUM_BYTES, room / rows / UNIT * UNIT));
        // All pieces of a row have about the same size.
        int pieces = (rowBytes + most - 1) / most;
        int bytes = ((rowBytes + pieces - 1) / pieces + UNIT - 1) / UNIT * UNIT;
        return new RowPieces(SUM_WARPS, bytes, room / bytes);
    }

    /** For copies of rows, one at a time for every warp. */
    static RowPieces forCopies(GpuFacts facts, int rowBytes, int ranks) {
        if (!facts.bulk()) {
            return new RowPieces(PLAIN_WARPS * 32 / facts.lanes(), 0, 0);
        }
        int stage = Pieces.rowStage(rowBytes);
        return new RowPieces(Math.max(1, Math.min(COPY_WARPS, Pieces.roomBytes(facts, ranks) / stage)), stage, 1);
    }

    /** Shared memory of a block. */
    int sharedBytes() {
        return warps * bytes * slots;
    }

    /** {@code Op.extra}. */
    long packed() {
        return (long) slots << 32 | bytes;
    }
}
