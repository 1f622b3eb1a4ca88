package org.ep4j.engine.proxy;

import org.ep4j.EpArgumentException;

/**
 * A command of 16 bytes, two words of 64 bits, as a GPU or a thread of the host leaves it in a {@link CommandRing}. The same
 * layout is written in {@code fifo.cu}. Offsets and lengths are counted in {@link #UNIT}s of 16 bytes.
 *
 * <table>
 *   <caption>Bits</caption>
 *   <tr><th>word</th><th>bits</th><th>write</th><th>advance</th></tr>
 *   <tr><td>0</td><td>63..28</td><td>target offset</td><td rowspan="2">value, all 64 bits</td></tr>
 *   <tr><td>0</td><td>27..0</td><td>length</td></tr>
 *   <tr><td>1</td><td>63</td><td colspan="2">phase: 1 in the first lap through the ring, 0 in the second, and so on</td></tr>
 *   <tr><td>1</td><td>62..60</td><td>kind, 1</td><td>kind, 2</td></tr>
 *   <tr><td>1</td><td>59..44</td><td colspan="2">peer</td></tr>
 *   <tr><td>1</td><td>43..36</td><td colspan="2">0</td></tr>
 *   <tr><td>1</td><td>35..0</td><td>source offset</td><td>counter</td></tr>
 * </table>
 */
public final class Command {
    public static final int BYTES = 16;

    /** Bytes that offsets and lengths are multiples of. */
    public static final int UNIT = 16;

    public static final int WRITE = 1;
    public static final int ADVANCE = 2;
    public static final int MAX_PEER = (1 << 16) - 1;

    /** The highest offset of a write, in bytes: almost 1 TiB. */
    public static final long MAX_OFFSET = ((1L << 36) - 1) * UNIT;

    /** The longest write, in bytes: almost 4 GiB. */
    public static final long MAX_LENGTH = ((1L << 28) - 1) * UNIT;

    static final int UNIT_SHIFT = 4;
    static final int TARGET_SHIFT = 28;
    static final int KIND_SHIFT = 60;
    static final int PEER_SHIFT = 44;
    static final long LENGTH_MASK = (1L << TARGET_SHIFT) - 1;
    static final long OFFSET_MASK = (1L << 36) - 1;
    static final long SPARE_MASK = 0xffL << 36;

    /** What {@link #form} gives for a write, and for an advance. */
    static final long WRITE_FORM = (long) WRITE << KIND_SHIFT;

    static final long ADVANCE_FORM = (long) ADVANCE << KIND_SHIFT;

    private Command() {}

    /**
     * Word 0 of a write.
     *
     * @param target offset in the peer's memory, bytes
     * @param bytes to be written
     */
    public static long writeWord0(long target, long bytes) {
        checkUnits("target", target, MAX_OFFSET, "use an offset into the peer's symmetric memory");
        checkUnits("bytes", bytes, MAX_LENGTH, "split the write");
        return target >> UNIT_SHIFT << TARGET_SHIFT | bytes >> UNIT_SHIFT;
    }

    /**
     * Word 1 of a write, without the phase.
     *
     * @param source offset in this rank's memory, bytes
     */
    public static long writeWord1(int peer, long source) {
        checkUnits("source", source, MAX_OFFSET, "use an offset into this rank's symmetric memory");
        return head(WRITE, peer) | source >> UNIT_SHIFT;
    }

    /** Word 1 of an advance, without the phase; word 0 is the value of the counter. */
    public static long advanceWord1(int peer, int counter) {
        if (counter < 0) {
            throw new EpArgumentException(
                    "counter", counter, "from 0 to " + Integer.MAX_VALUE, "pass the number of a counter");
        }
        return head(ADVANCE, peer) | counter;
    }

    private static long head(int kind, int peer) {
        if (peer < 0 || peer > MAX_PEER) {
            throw new EpArgumentException(
                    "peer",
                    peer,
                    "from 0 to " + MAX_PEER,
                    "pass the rank of a peer; this format has no room for larger ranks");
        }
        return (long) kind << KIND_SHIFT | (long) peer << PEER_SHIFT;
    }

    private static void checkUnits(String name, long value, long most, String fix) {
        if (value < 0 || value > most || value % UNIT != 0) {
            throw new EpArgumentException(name, value, "a multiple of " + UNIT + " from 0 to " + most, fix);
        }
    }

    public static int kind(long word1) {
        return (int) (word1 >>> KIND_SHIFT) & 7;
    }

    public static int peer(long word1) {
        return (int) (word1 >>> PEER_SHIFT) & MAX_PEER;
    }

    /** Offset in the peer's memory, bytes. */
    public static long target(long word0) {
        return word0 >>> TARGET_SHIFT << UNIT_SHIFT;
    }

    /** Length of a write, bytes. */
    public static long bytes(long word0) {
        return (word0 & LENGTH_MASK) << UNIT_SHIFT;
    }

    /** Offset in this rank's memory, bytes. */
    public static long source(long word1) {
        return (word1 & OFFSET_MASK) << UNIT_SHIFT;
    }

    /** Counter of an advance; one that is no {@code int} becomes the highest, which no buffer has. */
    public static int counter(long word1) {
        return (int) Math.min(word1 & OFFSET_MASK, Integer.MAX_VALUE);
    }

    /** The bits that tell what a command is, and those that nobody sets. */
    static long form(long word1) {
        return word1 & (7L << KIND_SHIFT | SPARE_MASK);
    }
}
