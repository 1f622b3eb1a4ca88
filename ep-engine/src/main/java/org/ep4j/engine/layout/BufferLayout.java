package org.ep4j.engine.layout;

import java.util.stream.IntStream;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.RowLayout;

/**
 * Offsets in the symmetric buffer, in bytes from its start; the same on all ranks. Immutable.
 *
 * <p>High throughput: received rows and their records by final row; the area from which a combine is read in place, or into
 * which the rows of every selection are sent. Low latency: fixed slots in two banks, one message for each (source rank,
 * token), one combined row for each (token, selection).
 *
 * <p>Where some path of the plan is posted there are more regions behind these: rows of a combine that posted peers send back,
 * since they cannot be read in place, rows of a dispatch that a relay forwards, and a staging buffer for each peer.
 */
@SuppressWarnings("EnumOrdinal") // counters and announcements lie in the order in which they are declared
public final class BufferLayout {
    /** Regions begin at multiples of a page. */
    private static final int PAGE = 4096;

    /** Each counter has a cache line of its own, with the word that says whether its reader sleeps. */
    private static final int LINE = 64;

    /** Largest staging buffer of one peer: several pieces, so that one is filled while others are sent. */
    private static final long STAGING = 4 << 20;

    /** Largest size of all staging buffers together, unless one row for each takes more. */
    private static final long ALL_STAGING = 256 << 20;

    /** 64-bit words of an {@link Announcement}; R ints follow. */
    public static final int ANNOUNCEMENT_WORDS = 8;

    private final int ranks;
    private final int hidden;
    private final int topK;
    private final int scales;
    private final int maxTokens;
    private final int maxLowLatencyTokens;
    private final long receiveCapacity;
    private final int announcementBytes;
    private final int recordBytes;
    private final int messageHead;
    private final int messageBytes;
    private final int countBytes;
    private final int combineSlotBytes;

    private final long announcements;
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
    private final long relayedRows;
    private final long relayedRecords;
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
     * @param relayed most ranks whose rows one rank forwards
     */
    public BufferLayout(EpShape shape, int ranks, boolean posted, int relayed) {
        this.posted = posted;
        this.ranks = ranks;
        this.hidden = shape.hidden();
        this.topK = shape.topK();
        this.scales = shape.scales();
        this.maxTokens = shape.maxTokens();
        this.maxLowLatencyTokens = shape.maxLowLatencyTokens();
        this.receiveCapacity = ShapeSizes.receivedRows(shape, ranks);
        this.announcementBytes = align(announcementInts() + 4 * ranks, LINE);
        this.recordBytes = recordBytes(scales);
        this.messageHead = align(8 + 16 * topK + 4 * scales, 16);
        this.messageBytes = messageHead + 2 * hidden;
        this.countBytes = align(8 * (1 + localExperts(ShapeSizes.placement(shape, ranks))), LINE);
        this.combineSlotBytes = align(4 * scales, 16) + 2 * hidden;

        long next = counter(Counter.HT_ROUND, 0);
        announcements = page(next);
        next = announcements + (long) Announcement.values().length * 2 * ranks * announcementBytes;
        rows = page(next);
        next = rows + receiveCapacity * rowBytes();
        records = page(next);
        next = records + receiveCapacity * recordBytes;
        combineArea = page(next);
        // Only a by-expert combine sends the row of every selection here.
        long selections = shape.layouts().contains(RowLayout.BY_EXPERT) ? (long) maxTokens * topK : 0;
        next = combineArea + Math.max(receiveCapacity, selections) * rowBytes();
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
        relayedRows = page(next);
        next = relayedRows + (long) relayed * maxTokens * rowBytes();
        relayedRecords = page(next);
        next = relayedRecords + (long) relayed * maxTokens * recordBytes;
        staging = page(next);
        stagingBytes = posted ? page(stagingFor()) : 0;
        next = staging + ranks * stagingBytes;
        bytes = page(next);
    }

    /** Bytes that one operation sends to a peer, within limits; at least those of the largest single write. */
    private long stagingFor() {
        long operation = Math.max(
                maxTokens * Math.max(rowBytes() + recordBytes, topK * rowBytes()),
                maxLowLatencyTokens * Math.max(messageBytes, (long) topK * combineSlotBytes));
        long single = Math.max(Math.max(announcementBytes, recordBytes), Math.max(messageBytes, combineSlotBytes));
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

    /** Counter of {@code source}; {@link Counter#HT_ROUND} is only in a window, where counters are apart from the rest. */
    public long counter(Counter kind, int source) {
        return ((long) kind.ordinal() * ranks + source) * LINE;
    }

    /** Bytes of all counters of a window. */
    public long counterBytes() {
        return page((long) Counter.values().length * ranks * LINE);
    }

    /** Number of a counter for {@link org.ep4j.spi.HostPosted}. */
    public static int number(Counter kind) {
        return kind.ordinal();
    }

    /** Announcement of {@code source} for operation {@code number}: {@link #ANNOUNCEMENT_WORDS} longs, then R ints. */
    public long announcement(Announcement kind, long number, int source) {
        return announcements + ((kind.ordinal() * 2L + (number & 1)) * ranks + source) * announcementBytes;
    }

    /**
     * Returns whether a write to an offset belongs to an operation of low latency: its messages, counts, combine slots, their
     * flags, and its announcements.
     */
    public boolean isLowLatency(long offset) {
        return offset < rows
                ? offset >= announcement(Announcement.LL_DISPATCH, 0, 0)
                        && offset < announcement(Announcement.LL_COMBINE, 1, ranks)
                : offset >= messages && offset < returnedRows;
    }

    public int announcementBytes() {
        return announcementBytes;
    }

    /** Offset of the ints in an announcement. */
    public static int announcementInts() {
        return 8 * ANNOUNCEMENT_WORDS;
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
     * Record of a received row on the host, where records with fewer scales are closer together.
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
     * Counts of {@code source} in a low-latency dispatch: of messages, then of selections of each of this rank's experts. The
     * upper half of each long has the number of the dispatch, so that they need no counter.
     */
    public long counts(long number, int source) {
        return counts + ((number & 1) * ranks + source) * countBytes;
    }

    /** Bytes of the {@link #counts} of one source. */
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

    /** Returns whether some ranks post to others. */
    public boolean posted() {
        return posted;
    }

    /** Row {@code index} of those that peers posted back for a combine, each peer's together. */
    public long returnedRow(long index) {
        return returnedRows + index * rowBytes();
    }

    /** The K weights that go with {@link #returnedRow}. */
    public long returnedWeights(long index) {
        return returnedWeights + index * 4L * topK;
    }

    /** A row to forward: dense rows of the type that was sent. */
    public long relayedRow(long index, long bytes) {
        return relayedRows + index * bytes;
    }

    /** The record that goes with {@link #relayedRow}, with global expert ids. */
    public long relayedRecord(long index) {
        return relayedRecords + index * recordBytes;
    }

    /** Staging buffer of {@code peer}, for what is posted to it. */
    public long staging(int peer) {
        return staging + peer * stagingBytes;
    }

    /** Bytes of {@link #staging}; 0 where nothing is posted. */
    public long stagingBytes() {
        return stagingBytes;
    }
}
