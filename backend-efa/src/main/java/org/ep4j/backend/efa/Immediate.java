package org.ep4j.backend.efa;

/**
 * The 32 bits that go with every write, which is what all providers have: two for what it is, 30 for a number. The endpoint
 * identifies the source, and a record in memory the counter and its value, so none of them has to fit in here.
 */
final class Immediate {
    /** Bytes; the number is that of their batch, modulo {@link Records#COUNT}. */
    static final int DATA = 0;

    /** The record that ends a batch; the number is that of the batch, modulo {@link Records#COUNT}. */
    static final int RECORD = 1;

    /** Nothing of the buffer was written; the number is of {@link #done}. */
    static final int DONE = 2;

    /** Nothing was written: the source has closed the connection, or cut the peer off. */
    static final int CUT = 3;

    private static final int BITS = 30;
    private static final int HALF = 15;
    private static final int MASK = (1 << BITS) - 1;

    private Immediate() {}

    static int of(int kind, int number) {
        return kind << BITS | number;
    }

    /** How many more batches of the peer are done with, and how many more of its immediates were taken; both below 2^15. */
    static int done(int batches, int taken) {
        return of(DONE, batches << HALF | taken);
    }

    static int batches(int number) {
        return number >>> HALF;
    }

    static int taken(int number) {
        return number & ((1 << HALF) - 1);
    }

    static int kind(int immediate) {
        return immediate >>> BITS;
    }

    static int number(int immediate) {
        return immediate & MASK;
    }
}
