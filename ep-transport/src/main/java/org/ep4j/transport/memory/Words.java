package org.ep4j.transport.memory;

/**
 * A range of symmetric memory seen as words by offset, wherever it lies. Used for counters and small blocks only; rows are
 * moved by the engine of the device.
 */
public interface Words {
    /** Writes a 32-bit integer. */
    void putInt(long offset, int value);

    /** Reads a 64-bit integer. */
    long getLong(long offset);

    /** Writes a 64-bit integer. */
    void putLong(long offset, long value);

    /** Reads a 64-bit word with acquire order; its address is a multiple of 8. */
    long getLongAcquire(long offset);

    /** Writes a 64-bit word with release order; its address is a multiple of 8. */
    void putLongRelease(long offset, long value);

    /**
     * Advances a counter: writes it with release order, and wakes the thread that {@link #sleep sleeps} until it advances.
     *
     * @param offset of the counter, which a word for {@link #sleep} follows
     */
    default void advance(long offset, long value) {
        putLongRelease(offset, value);
    }

    /**
     * Sleeps until a counter is {@link #advance advanced}, or for a short time; may return early, without a reason. One thread at a time for
     * each counter: a second one may sleep until the short time is over.
     *
     * @param offset of the counter; the word after it says that a thread sleeps
     * @param seen the value that the counter has until then
     * @return false, at once, where threads cannot sleep for this memory
     */
    default boolean sleep(long offset, long seen) {
        return false;
    }
}
