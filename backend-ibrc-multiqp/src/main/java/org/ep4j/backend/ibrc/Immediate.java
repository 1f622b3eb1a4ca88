package org.ep4j.backend.ibrc;

/**
 * The 32 bits of an immediate, which make the receiver add to a word. For a counter: whether a fence precedes it, buffer
 * (6 bits), counter (6), place of 16 bits in the 64 (2), these 16 bits. For words of a connection: lane (16 bits), what to do.
 */
final class Immediate {
    /** Buffers that have different numbers. */
    static final int BUFFERS = 64;

    private static final int AFTER_FENCE = 1 << 30;
    private static final int FENCE = 1 << 31;
    private static final int CLOSE = 1 << 16;
    private static final int TOTAL = 1 << 17;
    private static final int DIGIT = 16;

    private Immediate() {}

    /** Adds {@code digit << 16 * place} to a counter. */
    static int counter(int buffer, int counter, int place, int digit) {
        return (buffer << 24) | (counter << 18) | (place << 16) | digit;
    }

    /** As {@code code}, which is of a counter, and before that adds one to the number of fences. */
    static int afterFence(int code) {
        return code | AFTER_FENCE;
    }

    static boolean isAfterFence(int code) {
        return (code & AFTER_FENCE) != 0;
    }

    /** Adds one to the word of a lane, or with the flag {@link Words#CLOSED}. */
    static int lane(int lane, boolean close) {
        return FENCE | (close ? CLOSE : 0) | lane;
    }

    /** Adds one to the number of fences. */
    static int fence() {
        return FENCE | TOTAL;
    }

    static boolean isCounter(int code) {
        return (code & FENCE) == 0;
    }

    static int buffer(int code) {
        return (code >>> 24) & 63;
    }

    static int counterIndex(int code) {
        return (code >>> 18) & 63;
    }

    static long delta(int code) {
        return (code & 0xffffL) << (DIGIT * ((code >>> 16) & 3));
    }

    static boolean isFence(int code) {
        return (code & TOTAL) != 0;
    }

    static boolean closes(int code) {
        return (code & CLOSE) != 0;
    }

    static int laneIndex(int code) {
        return code & 0xffff;
    }
}
