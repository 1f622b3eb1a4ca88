package org.ep4j.engine.layout;

import org.ep4j.EpShape;

/**
 * Offsets in the window of a GPU: memory that NICs reach, by which it exchanges rows with peers that do not map its symmetric
 * memory. In bytes from the start of the memory or of a channel; the same on all ranks.
 *
 * <p>First announcements, at the offsets of {@link BufferLayout}, then a staging buffer for each rank for what the host posts
 * itself, then a channel to each remote peer, then one from each. What is stored in a channel is posted to the same offset of
 * the receiver's channel from this rank; if this rank maps the receiver's window, it stores there directly.
 *
 * <p>Returned rows of selections are more than the rows of one channel, but each selection's comes from one rank: the channels
 * from all remote peers together have a slot for each, and those to all of them together are what they are posted from. No
 * channel has rows of another operation meanwhile, since all ranks have begun this one.
 *
 * @param layout of the symmetric memory
 * @param channels to remote peers, and as many from them
 * @param relays whether some ranks forward what others send
 * @param relayedRecordBytes record of a row to forward: with global expert ids, then K rows at the ranks that need it
 * @param counterBytes of the counters, which are apart from the rest
 * @param staging staging buffer of the host for rank 0; those of the others follow
 * @param stagingBytes of each of them
 * @param outgoing start of the channels
 * @param channelRows that a channel has room for: at least T, and with those of the other channels T * K, slots for the rows of all
 *     selections
 * @param records in a channel, behind its rows; of rows to forward 16 bytes later, behind their number
 * @param weights in a channel: K of each row that is returned
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
        boolean relays,
        int relayedRecordBytes,
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
     * @param relays whether some ranks forward what others send; their records take more
     */
    public static WindowLayout of(EpShape shape, int ranks, int channels, boolean relays) {
        BufferLayout layout = new BufferLayout(shape, ranks);
        int relayedRecordBytes = layout.recordBytes() + (int) align(4L * shape.topK(), 16);
        long staging = layout.rows();
        long stagingBytes = align(4L * layout.announcementBytes(), PAGE);
        long tokens = shape.maxTokens();
        long low = shape.maxLowLatencyTokens();
        // A token goes to a rank once. The rows of its selections are returned through all channels, of which there may
        // be few.
        long selections = tokens * shape.topK();
        long channelRows = Math.max(tokens, (selections + channels - 1) / Math.max(1, channels));
        long records = align(channelRows * layout.rowBytes(), LINE);
        long recordsBytes = relays ? 16 + tokens * relayedRecordBytes : tokens * layout.recordBytes();
        long weights = align(records + recordsBytes, LINE);
        long messages = align(weights + tokens * shape.topK() * 4, LINE);
        long messageFlags = align(messages + 2 * low * layout.messageBytes(), LINE);
        long counts = align(messageFlags + 2 * align(8 * low, 16), LINE);
        long slots = align(counts + (low == 0 ? 0 : 2L * layout.countBytes()), LINE);
        long slotFlags = align(slots + 2 * low * shape.topK() * layout.combineSlotBytes(), LINE);
        return new WindowLayout(
                layout,
                channels,
                relays,
                relayedRecordBytes,
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
