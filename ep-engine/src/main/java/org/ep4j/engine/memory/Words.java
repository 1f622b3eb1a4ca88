package org.ep4j.engine.memory;

/**
 * A range of symmetric memory seen as words by offset, wherever it lies. Used for counters and small blocks only; rows are
 * moved by the engine of the device.
 */
public interface Words {
    /** Reads a 32-bit integer. */
    int getInt(long offset);

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
}
