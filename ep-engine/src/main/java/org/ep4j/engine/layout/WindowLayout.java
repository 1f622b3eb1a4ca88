package org.ep4j.engine.layout;

import org.ep4j.EpShape;

/**
 * Where everything lies in the window of a GPU: memory that NICs reach, by which it exchanges with peers that do not map its
 * symmetric memory. In bytes from the start of the memory or of a channel; the same on all ranks.
 *
 * <p>First blocks where {@link BufferLayout} has them, then a place for each rank where the host puts what it posts itself, then
 * a channel to each remote peer, then one from each. What is put into a channel is posted to the same place of the receiver's
 * channel from this rank.
 *
 * <p>Rows of selections that come back are more than the rows of one channel, but each selection's comes from one rank: the
 * channels from all remote peers together have a place for each, and those to all of them together are where they are posted
 * from. No channel has rows of another operation meanwhile, since all ranks have begun this one.
 *
 * @param layout of the symmetric memory
 * @param channels to remote peers, and as many from them
 * @param rails true when some ranks pass on what others send
 * @param passedRecordBytes of a row that is to be passed on: the record, with global expert ids, then K rows at the ranks that it is for
 * @param counterBytes of the counters, which lie apart from the rest
 * @param staging where the host puts what it posts to rank 0; those of the others follow
 * @param stagingBytes of each rank's place there
 * @param outgoing start of the channels
 * @param channelRows that a channel has room for: at least T, and with those of the other channels T * K, slots for the rows of all
 *     selections
 * @param records in a channel; of rows that are to be passed on 16 bytes later, behind their number
 * @param weights in a channel: K of each row that comes back
 * @param messages in a channel, of low latency, in two banks
 * @param messageFlags in a channel; a bank's begin at a multiple of 16 bytes
 * @param counts in a channel, of messages and of selections of each expert, in two banks
 * @param slots in a channel, of low-latency combines, in two banks
 * @param slotFlags in a channel; a bank's begin at a multiple of 16 bytes
 * @param channelBytes of a channel
 */
public record WindowLayout(
        BufferLayout layout,
        int channels,
        boolean rails,
        int passedRecordBytes,
        long counterBytes,
        long staging,
        long stagingBytes,
        long outgoing,
        long channelRows,
        long records,
        long weights,
        long messages,
        long messageFlags,
        long counts,
        long slots,
        long slotFlags,
        long channelBytes) {
    private static final int PAGE = 4096;
    private static final int LINE = 256;

    /**
     * The window of a shape.
     *
     * @param ranks of the group
     * @param channels remote peers of the rank that has the most
     * @param rails whether some ranks pass on what others send; their records take more
     */
    public static WindowLayout of(EpShape shape, int ranks, int channels, boolean rails) {
        BufferLayout layout = new BufferLayout(shape, ranks);
        int passedRecordBytes = layout.recordBytes() + (int) align(4L * shape.topK(), 16);
        long staging = layout.rows();
        long stagingBytes = align(4L * layout.blockBytes(), PAGE);
        long tokens = shape.maxTokens();
        long low = shape.maxLowLatencyTokens();
        // A token goes to a rank once. Its selections' rows come back through all channels, of which there may be few.
        long selections = tokens * shape.topK();
        long channelRows = Math.max(tokens, (selections + channels - 1) / Math.max(1, channels));
        long records = align(channelRows * layout.rowBytes(), LINE);
        long recordsBytes = rails ? 16 + tokens * passedRecordBytes : tokens * layout.recordBytes();
        long weights = align(records + recordsBytes, LINE);
        long messages = align(weights + tokens * shape.topK() * 4, LINE);
        long messageFlags = align(messages + 2 * low * layout.messageBytes(), LINE);
        long counts = align(messageFlags + 2 * align(8 * low, 16), LINE);
        long slots = align(counts + (low == 0 ? 0 : 2L * layout.countBytes()), LINE);
        long slotFlags = align(slots + 2 * low * shape.topK() * layout.combineSlotBytes(), LINE);
        return new WindowLayout(
                layout,
                channels,
                rails,
                passedRecordBytes,
                layout.counterBytes(),
                staging,
                stagingBytes,
                staging + ranks * stagingBytes,
                channelRows,
                records,
                weights,
                messages,
                messageFlags,
                counts,
                slots,
                slotFlags,
                align(slotFlags + 2 * align(8 * low * shape.topK(), 16), PAGE));
    }

    private static long align(long value, int to) {
        return (value + to - 1) / to * to;
    }

    public long bytes() {
        return outgoing + 2L * channels * channelBytes;
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

    /** High throughput: rows, from the start of a channel on. */
    public long rows() {
        return 0;
    }
}
