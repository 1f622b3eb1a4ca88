package org.ep4j.engine.gpu;

import org.ep4j.EpShape;
import org.ep4j.gpu.GpuInfo;

/**
 * Blocks, threads and shared memory of the low-latency kernels; see {@code ll_dispatch.cu} and {@code ll_combine.cu} for what
 * lies there.
 */
record LowLatencyPieces(
        GpuInfo info,
        boolean bulk,
        int processors,
        int hidden,
        int experts,
        int localExperts,
        int messageHead,
        int tableExperts,
        long temporaryBytes) {
    /** Four messages at a time, and more threads that look at counts: {@code EP_LL_COUNTERS}. */
    static final int RECEIVE_THREADS = 4 * 128 + 64;

    /** Of the kernel that adds up slots. */
    static final int COMBINE_THREADS = 1024;

    /** Of kernels that code or decode LogFMT, which takes more registers. */
    static final int CODED_THREADS = 512;

    private static final int MOST_THREADS = 1024;

    /** Most threads of a sending block that encode, and 16-byte words of a row that each has: {@code EP_LL_ENCODERS}, {@code EP_LL_EACH}. */
    private static final int MOST_ENCODERS = 512;

    private static final int ENCODED = 2;

    /** 16 bytes of a BF16 row. */
    private static final int CHANNELS = 8;

    /** Up to so many experts a block keeps what it knows of each in shared memory, where that is large enough. */
    private static final int TABLE_EXPERTS = 8192;

    /** Rank, index on that rank, and selections so far. */
    private static final int EXPERT_BYTES = 12;

    /** 16-byte words of a row that a lane adds up before it sends: {@code EP_LL_COLUMNS}. */
    private static final int COLUMNS = 4;

    /** Threads that add up one message at most, and messages at a time: {@code EP_LL_SPAN}, {@code EP_LL_ABREAST}. */
    private static final int SUM_THREADS = 256;

    private static final int ABREAST = 4;

    /** Waves that each bring a row to its slot. */
    private static final int ROW_WAVES = 16;

    /** Static shared memory, and what the system takes. */
    private static final int STATIC_BYTES = 2048;

    private static final int STATIC_BYTES_OF_RANK = 24;

    private static final int LOG_BLOCK_BYTES = 256;
    private static final int LOG_RANGES_BYTES = 64;

    static LowLatencyPieces of(GpuState state) {
        EpShape shape = state.shape();
        return new LowLatencyPieces(
                state.device().info(),
                state.device().hasBulkCopies(),
                state.lowLatencyProcessors(),
                shape.hidden(),
                shape.experts(),
                state.localExperts(),
                state.symmetricLayout().messageHead(),
                tableExperts(
                        state.symmetricLayout().messageHead(),
                        state.ranks(),
                        state.device().info().sharedBytes()),
                state.temporary().byteSize());
    }

    /**
     * Up to so many experts a sending block has tables in shared memory: {@code EP_LL_TABLE_EXPERTS} of the kernels.
     *
     * @param sharedBytes that a block may have
     */
    static int tableExperts(int messageHead, int ranks, int sharedBytes) {
        int room = sharedBytes - leastSharedBytes(messageHead, ranks);
        return Math.max(0, Math.min(TABLE_EXPERTS, room / EXPERT_BYTES));
    }

    /** Shared memory of a sending block without tables. */
    static int leastSharedBytes(int messageHead, int ranks) {
        return STATIC_BYTES + STATIC_BYTES_OF_RANK * ranks + messageHead + 16 * MOST_THREADS;
    }

    /** One for each token, as far as there are processors; tables that do not fit shared memory must fit elsewhere. */
    int sendBlocks(int tokens) {
        int blocks = Math.max(1, Math.min(tokens, processors));
        return experts <= tableExperts ? blocks : (int) Math.min(blocks, temporaryBytes / (4L * experts));
    }

    /** So many that a row of most models is read at once, and a wave that routes. */
    int sendThreads() {
        return encoders() + lanes();
    }

    private int encoders() {
        int each = ENCODED * CHANNELS * lanes();
        return Math.min(MOST_ENCODERS, Math.max(2, (hidden + each - 1) / each) * lanes());
    }

    int sendBytes() {
        return messageHead + 16 * ENCODED * encoders() + (experts <= tableExperts ? EXPERT_BYTES * experts : 0);
    }

    int receiveBytes() {
        return localExperts <= TABLE_EXPERTS ? 4 * localExperts : 0;
    }

    /** Threads of a block that sends sums. */
    int sumThreads() {
        int piece = COLUMNS * lanes() * CHANNELS;
        return ABREAST * Math.min(SUM_THREADS, (hidden + piece - 1) / piece * lanes());
    }

    /** Sums go straight to their slots where there are no bulk copies. */
    int sumBytes() {
        return bulk ? sumThreads() * COLUMNS * 16 : 0;
    }

    int rowThreads() {
        return Math.min(MOST_THREADS, ROW_WAVES * lanes());
    }

    /** Bytes of a row that a wave moves at a time. */
    int rowPiece(int ranks) {
        int room = (info.sharedBytes() - STATIC_BYTES - STATIC_BYTES_OF_RANK * ranks) / ROW_WAVES / 16 * 16;
        return Math.min(2 * hidden, room);
    }

    int rowBytes(int ranks) {
        return bulk ? ROW_WAVES * rowPiece(ranks) : 0;
    }

    /** Shared memory of a kernel that sends in LogFMT: blocks as they are and coded. */
    int codedSendBytes() {
        return CODED_THREADS / lanes() * (2 * lanes() / 8 * LOG_BLOCK_BYTES + LOG_RANGES_BYTES);
    }

    int codedReceiveBytes() {
        return CODED_THREADS / lanes() * (lanes() / 8 * LOG_BLOCK_BYTES + LOG_RANGES_BYTES);
    }

    private int lanes() {
        return info.warpSize();
    }
}
