package org.ep4j.engine.layout;

import java.util.stream.IntStream;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;

/**
 * Where everything lies in the symmetric buffer, in bytes from its start; the same on all ranks. Immutable.
 *
 * <p>High throughput: received rows and their records by final row; the area from which a combine is read in place, or into
 * which the rows of every selection are sent. Low latency: fixed slots in two banks, one message for each (source rank,
 * token), one combined row for each (token, selection).
 *
 * <p>Where some path of the plan is posted there are more regions behind these: rows of a combine that posted peers send
 * back, since they cannot be read where they are, rows of a dispatch that a rank passes on to others, and a place for each peer where what is posted to it lies until it is sent.
 */
@SuppressWarnings("EnumOrdinal") // counters and blocks lie in the order in which they are declared
public final class BufferLayout {
    /** Regions begin at multiples of a page. */
    private static final int PAGE = 4096;

    /** Each counter has a cache line of its own, which also holds the word that says whether its reader sleeps. */
    private static final int LINE = 64;

    /** Most that waits to be sent to one peer: several pieces, so that one is filled while others are sent. */
    private static final long STAGING = 4 << 20;

    /** Most that waits to be sent to all peers together, unless one row for each takes more. */
    private static final long ALL_STAGING = 256 << 20;

    /** Long words at the head of a {@link Block}. */
    public static final int BLOCK_WORDS = 8;

    private final int ranks;
    private final int hidden;
    private final int topK;
    private final int scales;
    private final int maxTokens;
    private final int maxLowLatencyTokens;
    private final long receiveCapacity;
    private final int blockBytes;
    private final int recordBytes;
    private final int messageHead;
    private final int messageBytes;
    private final int countBytes;
    private final int combineSlotBytes;

    private final long blocks;
    private final long rows;
    private final long records;
    private final long combineArea;
    private final long combineWeights;
    private final long messages;
    private final long messageFlags;
    private final long counts;
    private final long combineSlots;
    private final long combineFlags;
    private final long returnedRows;
    private final long returnedWeights;
    private final long passedRows;
    private final long passedRecords;
    private final long staging;
    private final long stagingBytes;
    private final boolean posted;
    private final long bytes;

    /** The layout of a shape in a group of {@code ranks} that map each other's memory. */
    public BufferLayout(EpShape shape, int ranks) {
        this(shape, ranks, false, 0);
    }

    /**
     * The layout of a shape in a group of {@code ranks}.
     *
     * @param posted whether some of them post to others
     * @param passed most ranks whose rows one rank passes on
     */
    public BufferLayout(EpShape shape, int ranks, boolean posted, int passed) {
        this.posted = posted;
        this.ranks = ranks;
        this.hidden = shape.hidden();
        this.topK = shape.topK();
        this.scales = shape.scales();
        this.maxTokens = shape.maxTokens();
        this.maxLowLatencyTokens = shape.maxLowLatencyTokens();
        this.receiveCapacity = ShapeSizes.receivedRows(shape, ranks);
        this.blockBytes = align(8 * BLOCK_WORDS + 4 * ranks, LINE);
        this.recordBytes = recordBytes(scales);
        this.messageHead = align(8 + 16 * topK + 4 * scales, 16);
        this.messageBytes = messageHead + 2 * hidden;
        this.countBytes = align(8 * (1 + localExperts(ShapeSizes.placement(shape, ranks))), LINE);
        this.combineSlotBytes = align(4 * scales, 16) + 2 * hidden;

        long next = counter(Counter.HT_ROUND, 0);
        blocks = page(next);
        next = blocks + (long) Block.values().length * 2 * ranks * blockBytes;
        rows = page(next);
        next = rows + receiveCapacity * rowBytes();
        records = page(next);
        next = records + receiveCapacity * recordBytes;
        combineArea = page(next);
        next = combineArea + Math.max(receiveCapacity, (long) maxTokens * topK) * rowBytes();
        combineWeights = page(next);
        next = combineWeights + Math.max(receiveCapacity, maxTokens) * 4L * topK;
        messages = page(next);
        next = messages + 2L * ranks * maxLowLatencyTokens * messageBytes;
        messageFlags = page(next);
        next = messageFlags + 2L * ranks * maxLowLatencyTokens * Long.BYTES;
        counts = page(next);
        next = counts + (maxLowLatencyTokens == 0 ? 0 : 2L * ranks * countBytes);
        combineSlots = page(next);
        next = combineSlots + 2L * maxLowLatencyTokens * topK * combineSlotBytes;
        combineFlags = page(next);
        next = combineFlags + 2L * maxLowLatencyTokens * topK * Long.BYTES;
        returnedRows = page(next);
        long returned = posted ? (long) maxTokens * Math.min(topK, ranks - 1) : 0;
        next = returnedRows + returned * rowBytes();
        returnedWeights = page(next);
        next = returnedWeights + returned * 4 * topK;
        passedRows = page(next);
        next = passedRows + (long) passed * maxTokens * rowBytes();
        passedRecords = page(next);
        next = passedRecords + (long) passed * maxTokens * recordBytes;
        staging = page(next);
        stagingBytes = posted ? page(stagingFor()) : 0;
        next = staging + ranks * stagingBytes;
        bytes = page(next);
    }

    /** What one operation sends to a peer, within limits, but room for the largest single thing. */
    private long stagingFor() {
        long operation = Math.max(
                maxTokens * Math.max(rowBytes() + recordBytes, topK * rowBytes()),
                maxLowLatencyTokens * Math.max(messageBytes, (long) topK * combineSlotBytes));
        long single = Math.max(Math.max(blockBytes, recordBytes), Math.max(messageBytes, combineSlotBytes));
        return Math.max(single, Math.min(operation, Math.min(STAGING, ALL_STAGING / ranks)));
    }

    private static int localExperts(ExpertPlacement placement) {
        return IntStream.range(0, placement.ranks())
                .map(placement::localExperts)
                .max()
                .orElse(0);
    }

    private static int align(int value, int to) {
        return (value + to - 1) / to * to;
    }

    private static long page(long value) {
        return (value + PAGE - 1) & -PAGE;
    }

    public long bytes() {
        return bytes;
    }

    /** Bytes of a BF16 row. */
    public long rowBytes() {
        return 2L * hidden;
    }

    /** The counter of {@code source}; that of {@link Counter#HT_ROUND} lies where counters are apart from the rest. */
    public long counter(Counter kind, int source) {
        return ((long) kind.ordinal() * ranks + source) * LINE;
    }

    /** Bytes of all counters where they are apart from the rest. */
    public long counterBytes() {
        return page((long) Counter.values().length * ranks * LINE);
    }

    /** A counter's number among those that posted peers advance. */
    public static int number(Counter kind) {
        return kind.ordinal();
    }

    /** The block of {@code source} for operation {@code number}: {@link #BLOCK_WORDS} longs, then R ints. */
    public long block(Block kind, long number, int source) {
        return blocks + ((kind.ordinal() * 2L + (number & 1)) * ranks + source) * blockBytes;
    }

    /**
     * Returns whether a write to an offset belongs to an operation of low latency: its messages, counts and combine slots, their flags, and
     * the blocks of these operations.
     */
    public boolean isLowLatency(long offset) {
        return offset < rows
                ? offset >= block(Block.LL_DISPATCH, 0, 0) && offset < block(Block.LL_COMBINE, 1, ranks)
                : offset >= messages && offset < returnedRows;
    }

    public int blockBytes() {
        return blockBytes;
    }

    /** Offset of the ints in a block. */
    public static int blockInts() {
        return 8 * BLOCK_WORDS;
    }

    /** Received rows: dense rows of the type that was sent. */
    public long rows() {
        return rows;
    }

    public long rowsBytes() {
        return receiveCapacity * rowBytes();
    }

    /** Record of a received row: source token, K local expert indices, K weights, S scales. */
    public long record(long row) {
        return records + row * recordBytes;
    }

    /**
     * Record of a received row where ranks on the host keep it: records that have no scales, or fewer, lie closer together.
     *
     * @param scales S of the dispatch, the same on all ranks
     */
    public long record(long row, int scales) {
        return records + row * recordBytes(scales);
    }

    /** Bytes from one {@link #record(long, int)} to the next. */
    public int recordBytes(int scales) {
        return align(4 + 8 * topK + 4 * scales, 16);
    }

    public int recordBytes() {
        return recordBytes;
    }

    /** Rows for a combine to read in place; in an exact by-expert combine, slots for the rows of every selection. */
    public long combineArea() {
        return combineArea;
    }

    /** Bytes of the combine area as combine input: one BF16 row for each row that can be received. */
    public long combineInputBytes() {
        return receiveCapacity * rowBytes();
    }

    /** Slot of one selection in an exact by-expert combine. */
    public long selectionSlot(int token, int k) {
        return combineArea + ((long) token * topK + k) * rowBytes();
    }

    /** K weights of a row on their way back. */
    public long combineWeights(long row) {
        return combineWeights + row * 4L * topK;
    }

    /**
     * Low-latency message {@code index} of {@code source}: two ints, of which the first is the token, K experts by their
     * index on their rank, K weights, {@link #messageScales S scales} behind 2 K ints of an engine's own, the row.
     */
    public long message(long number, int source, int index) {
        return messages + (((number & 1) * ranks + source) * maxLowLatencyTokens + index) * (long) messageBytes;
    }

    /** Ints before the scales in a message. */
    public int messageScales() {
        return 2 + 4 * topK;
    }

    /** Bytes before the row in a message. */
    public int messageHead() {
        return messageHead;
    }

    public int messageBytes() {
        return messageBytes;
    }

    /** Number of the dispatch whose message is in a slot. */
    public long messageFlag(long number, int source, int index) {
        return messageFlags + (((number & 1) * ranks + source) * maxLowLatencyTokens + index) * Long.BYTES;
    }

    /**
     * What {@code source} sends in a low-latency dispatch: the number of messages, then of selections of each of this
     * rank's experts. In the upper half of each long is the number of the dispatch, so that they need no counter.
     */
    public long counts(long number, int source) {
        return counts + ((number & 1) * ranks + source) * countBytes;
    }

    /** Bytes of what one source says so. */
    public int countBytes() {
        return countBytes;
    }

    public int combineSlotBytes() {
        return combineSlotBytes;
    }

    /** Low-latency combine slot of a selection: S pairs of BF16, then the row. */
    public long combineSlot(long number, int token, int k) {
        return combineSlots + (((number & 1) * maxLowLatencyTokens + token) * (long) topK + k) * combineSlotBytes;
    }

    /** Number of the combine whose row is in a slot. */
    public long combineFlag(long number, int token, int k) {
        return combineFlags + (((number & 1) * maxLowLatencyTokens + token) * (long) topK + k) * Long.BYTES;
    }

    /** Bytes before the row in a combine slot. */
    public int combineSlotHead() {
        return align(4 * scales, 16);
    }

    /** True when some ranks post to others. */
    public boolean posted() {
        return posted;
    }

    /** Row {@code index} of those that posted peers sent back for a combine, each peer's together. */
    public long returnedRow(long index) {
        return returnedRows + index * rowBytes();
    }

    /** The K weights that go with {@link #returnedRow}. */
    public long returnedWeights(long index) {
        return returnedWeights + index * 4L * topK;
    }

    /** A row that is to be passed on, dense rows of the type that was sent. */
    public long passedRow(long index, long bytes) {
        return passedRows + index * bytes;
    }

    /** The record that goes with {@link #passedRow}, with global expert ids. */
    public long passedRecord(long index) {
        return passedRecords + index * recordBytes;
    }

    /** Where what is posted to {@code peer} lies until it is sent. */
    public long staging(int peer) {
        return staging + peer * stagingBytes;
    }

    /** Bytes of {@link #staging}; 0 where nothing is posted. */
    public long stagingBytes() {
        return stagingBytes;
    }
}
