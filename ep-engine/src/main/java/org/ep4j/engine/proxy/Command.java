package org.ep4j.engine.proxy;

/**
 * Layout of a command in a {@link CommandRing}: 16 bytes, two words of 64 bits. {@code fifo.cu} has the same layout. Offsets and lengths
 * are in units of 16 bytes.
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

    public static final int WRITE = 1;
    public static final int ADVANCE = 2;
    public static final int MAX_PEER = (1 << 16) - 1;

    static final int UNIT_SHIFT = 4;
    static final int TARGET_SHIFT = 28;
    static final int KIND_SHIFT = 60;
    static final int PEER_SHIFT = 44;
    static final long LENGTH_MASK = (1L << TARGET_SHIFT) - 1;
    static final long OFFSET_MASK = (1L << 36) - 1;
    static final long SPARE_MASK = 0xffL << 36;

    /** Results of {@link #form}. */
    static final long WRITE_FORM = (long) WRITE << KIND_SHIFT;

    static final long ADVANCE_FORM = (long) ADVANCE << KIND_SHIFT;

    private Command() {}

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

    /** Counter of an advance; the highest {@code int}, which no buffer has, if it does not fit one. */
    public static int counter(long word1) {
        return (int) Math.min(word1 & OFFSET_MASK, Integer.MAX_VALUE);
    }

    /** Returns the kind of a command in its place in word 1, and the spare bits, which are 0 in a valid command. */
    static long form(long word1) {
        return word1 & (7L << KIND_SHIFT | SPARE_MASK);
    }
}
