package org.ep4j.engine.layout;

import org.ep4j.EpShape;

/**
 * Where everything lies in the window of a GPU: memory that NICs reach, by which it exchanges with peers that do not map its
 * symmetric memory. In bytes from its start; the same on all ranks. Immutable.
 *
 * <p>First blocks where {@link BufferLayout} has them, then a place for each rank where the host puts what it posts itself, then
 * a channel to each remote peer, then one from each. What is put into a channel is posted to the same place of the receiver's
 * channel from this rank.
 *
 * <p>Rows of selections that come back are more than the rows of one channel, but each selection's comes from one rank: the
 * channels from all remote peers together have a place for each, and those to all of them together are where they are posted
 * from. No channel has rows of another operation meanwhile, since all ranks have begun this one.
 */
public final class WindowLayout {
    private static final int PAGE = 4096;
    private static final int LINE = 256;

    private final BufferLayout layout;
    private final int channels;
    private final boolean rails;
    private final int passedRecordBytes;
    private final long channelRows;
    private final long counterBytes;
    private final long staging;
    private final long stagingBytes;
    private final long records;
    private final long weights;
    private final long messages;
    private final long messageFlags;
    private final long counts;
    private final long slots;
    private final long slotFlags;
    private final long channelBytes;
    private final long outgoing;

    /**
     * The window of a shape.
     *
     * @param ranks of the group
     * @param channels remote peers of the rank that has the most
     * @param rails whether some ranks pass on what others send; their records take more
     */
    public WindowLayout(EpShape shape, int ranks, int channels, boolean rails) {
        this.layout = new BufferLayout(shape, ranks);
        this.channels = channels;
        this.rails = rails;
        this.passedRecordBytes = layout.recordBytes() + (int) align(4L * shape.topK(), 16);
        this.counterBytes = layout.counterBytes();
        this.staging = layout.rows();
        this.stagingBytes = align(4L * layout.blockBytes(), PAGE);
        long tokens = shape.maxTokens();
        long low = shape.maxLowLatencyTokens();
        // A token goes to a rank once. Its selections' rows come back through all channels, of which there may be few.
        long selections = tokens * shape.topK();
        channelRows = Math.max(tokens, (selections + channels - 1) / Math.max(1, channels));
        records = align(channelRows * layout.rowBytes(), LINE);
        weights = align(records + (rails ? 16 + tokens * passedRecordBytes : tokens * layout.recordBytes()), LINE);
        messages = align(weights + tokens * shape.topK() * 4, LINE);
        messageFlags = align(messages + 2 * low * layout.messageBytes(), LINE);
        counts = align(messageFlags + 2 * align(8 * low, 16), LINE);
        slots = align(counts + (low == 0 ? 0 : 2L * layout.countBytes()), LINE);
        slotFlags = align(slots + 2 * low * shape.topK() * layout.combineSlotBytes(), LINE);
        channelBytes = align(slotFlags + 2 * align(8 * low * shape.topK(), 16), PAGE);
        outgoing = staging + (long) ranks * stagingBytes;
    }

    /** The window of a shape where no rank passes on what others send. */
    public WindowLayout(EpShape shape, int ranks, int channels) {
        this(shape, ranks, channels, false);
    }

    private static long align(long value, int to) {
        return (value + to - 1) / to * to;
    }

    /** Size of the window. */
    public long bytes() {
        return outgoing + 2L * channels * channelBytes;
    }

    /** Bytes of the counters, which lie apart from the rest. */
    public long counterBytes() {
        return counterBytes;
    }

    /** Where the host puts what it posts to rank 0; those of the others follow. */
    public long staging() {
        return staging;
    }

    /** Bytes of each rank's place there. */
    public long stagingBytes() {
        return stagingBytes;
    }

    /** The channel to the {@code index}-th remote peer. */
    public long outgoing(int index) {
        return outgoing + index * channelBytes;
    }

    /** The channel from the {@code index}-th remote peer. */
    public long incoming(int index) {
        return outgoing + ((long) channels + index) * channelBytes;
    }

    /** Returns whether a write to an offset in the window belongs to an operation of low latency. */
    public boolean isLowLatency(long offset) {
        return offset < outgoing
                ? offset < staging && layout.isLowLatency(offset)
                : (offset - outgoing) % channelBytes >= messages;
    }

    /** High throughput: rows, from the start of a channel on; offsets of the rest are from there, too. */
    public long rows() {
        return 0;
    }

    /**
     * Rows that a channel has room for: at least T, and with those of the other channels T * K, slots for the rows of all
     * selections.
     */
    public long channelRows() {
        return channelRows;
    }

    /** Channels to remote peers, and as many from them. */
    public int channels() {
        return channels;
    }

    /** Size of a channel. */
    public long channelBytes() {
        return channelBytes;
    }

    /** Records of rows; of rows that are to be passed on 16 bytes later, behind their number. */
    public long records() {
        return records;
    }

    /** True when some ranks pass on what others send. */
    public boolean rails() {
        return rails;
    }

    /** A record of a row that is to be passed on: the record, with global expert ids, then K rows at the ranks that it is for. */
    public int passedRecordBytes() {
        return passedRecordBytes;
    }

    /** K weights of each row that comes back. */
    public long weights() {
        return weights;
    }

    /** Low-latency messages of two banks. */
    public long messages() {
        return messages;
    }

    /** Their flags; a bank's begin at a multiple of 16 bytes. */
    public long messageFlags() {
        return messageFlags;
    }

    /** How many messages there are, and selections of each expert, of two banks. */
    public long counts() {
        return counts;
    }

    /** Low-latency combine slots of two banks. */
    public long slots() {
        return slots;
    }

    /** Their flags; a bank's begin at a multiple of 16 bytes. */
    public long slotFlags() {
        return slotFlags;
    }
}
