package org.ep4j.engine.gpu;

import org.ep4j.EpShape;
import org.ep4j.gpu.GpuInfo;

/**
 * Blocks, threads and shared memory of the low-latency kernels; {@code ll_dispatch_send.cu} and {@code ll_combine_begin.cu}
 * describe its contents.
 */
record LowLatencyLaunch(
        GpuInfo info,
        boolean bulk,
        int processors,
        int hidden,
        int experts,
        int localExperts,
        int messageHead,
        int tableExperts,
        boolean channels,
        long temporaryBytes) {
    /** Threads for four messages at a time, and more that read counts: {@code EP_LL_COUNTERS}. */
    static final int RECEIVE_THREADS = 4 * 128 + 64;

    /** Threads of the kernel that sums slots. */
    static final int COMBINE_THREADS = 1024;

    /** Threads of kernels that encode or decode LogFMT, which needs more registers. */
    static final int CODED_THREADS = 512;

    private static final int MOST_THREADS = 1024;

    /** Most threads of a sending block that encode, and 16-byte words of a row that each has: {@code EP_LL_ENCODERS}, {@code EP_LL_EACH}. */
    private static final int MOST_ENCODERS = 512;

    private static final int ENCODED = 2;

    /** Values in 16 bytes of a BF16 row. */
    private static final int CHANNELS = 8;

    /** Most experts whose tables a block keeps in shared memory, if that is large enough. */
    private static final int TABLE_EXPERTS = 8192;

    /** Table entry: rank, index on that rank, and selections so far. */
    private static final int EXPERT_BYTES = 12;

    /** 16-byte words of a row that a lane sums before it sends: {@code EP_LL_COLUMNS}. */
    private static final int COLUMNS = 4;

    /** Most threads that sum one message, and messages at a time: {@code EP_LL_SPAN}, {@code EP_LL_ABREAST}. */
    private static final int SUM_THREADS = 256;

    private static final int ABREAST = 4;

    /** Warps that each copy a row to its slot. */
    private static final int ROW_WAVES = 16;

    /** Static shared memory, and that of the system. */
    private static final int STATIC_BYTES = 2048;

    private static final int STATIC_BYTES_OF_RANK = 24;

    /** Most ranks whose paths a block keeps in shared memory: {@code CachedPaths}. */
    private static final int CACHED_RANKS = 64;

    /** Blocks that a lane holds while it codes: {@code EP_LOG_HELD}. */
    private static final int CODED_HELD = 2;

    private static final int LOG_BLOCK_BYTES = 256;

    /** Creates the launch of one operation with this many blocks, one on each multiprocessor. */
    static LowLatencyLaunch of(GpuState state, int processors) {
        EpShape shape = state.shape();
        return new LowLatencyLaunch(
                state.device().info(),
                state.device().hasBulkCopies(),
                processors,
                shape.hidden(),
                shape.experts(),
                state.localExperts(),
                state.symmetricLayout().messageHead(),
                tableExperts(
                        state.symmetricLayout().messageHead(),
                        state.ranks(),
                        state.remotes(),
                        state.device().info().sharedBytes()),
                state.remotes(),
                state.temporary().byteSize());
    }

    /** Most experts whose tables a sending block keeps in shared memory: {@code EP_LL_TABLE_EXPERTS} of the kernels. */
    static int tableExperts(int messageHead, int ranks, boolean channels, int sharedBytes) {
        int room = sharedBytes - leastSharedBytes(messageHead, ranks, channels);
        return Math.max(0, Math.min(TABLE_EXPERTS, room / EXPERT_BYTES));
    }

    /** Shared memory of a sending block without tables. */
    static int leastSharedBytes(int messageHead, int ranks, boolean channels) {
        return staticBytes(ranks, channels) + messageHead + 16 * MOST_THREADS;
    }

    private static int staticBytes(int ranks, boolean channels) {
        return STATIC_BYTES
                + STATIC_BYTES_OF_RANK * ranks
                + (channels && ranks <= CACHED_RANKS ? PathTable.ENTRY_BYTES * ranks : 0);
    }

    /** Blocks for tokens, at most one for each processor; tables that do not fit shared memory must fit the temporary memory. */
    int sendBlocks(int tokens) {
        int blocks = Math.max(1, Math.min(tokens, processors));
        return experts <= tableExperts ? blocks : (int) Math.min(blocks, temporaryBytes / (4L * experts));
    }

    /** Threads that read a row of most models at once, and a warp that routes. */
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

    /** Shared memory for sums, which go straight to their slots without bulk copies. */
    int sumBytes() {
        return bulk ? sumThreads() * COLUMNS * 16 : 0;
    }

    int rowThreads() {
        return Math.min(MOST_THREADS, ROW_WAVES * lanes());
    }

    /** Bytes of a row that a warp moves at a time. */
    int rowPiece(int ranks) {
        int room = (info.sharedBytes() - staticBytes(ranks, channels)) / ROW_WAVES / 16 * 16;
        return Math.min(2 * hidden, room);
    }

    int rowBytes(int ranks) {
        return bulk ? ROW_WAVES * rowPiece(ranks) : 0;
    }

    /** Shared memory of a kernel that sends LogFMT. */
    int codedSendBytes() {
        return CODED_HELD * codedReceiveBytes();
    }

    /** Shared memory of a kernel that receives LogFMT: a block of 128 channels for every eight lanes. */
    int codedReceiveBytes() {
        return CODED_THREADS / 8 * LOG_BLOCK_BYTES;
    }

    private int lanes() {
        return info.warpSize();
    }
}
