package org.ep4j.engine.rows;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import org.ep4j.transport.memory.HostMemory;

/** A list of operations for native code, as 64-bit words in memory outside of the heap. One thread at a time. */
public final class RowList {
    private static final int WORDS = 8192;

    /** Allocated with the first entry: rows in Java have none. */
    private LongBuffer words = LongBuffer.allocate(0);

    private long address;
    private int entries;

    public void clear() {
        words.clear();
        entries = 0;
    }

    /** Returns whether entries must be removed before another one of {@code size} words. */
    public boolean isFull(int size) {
        return entries > 0 && size > words.remaining();
    }

    /** Begins an entry of {@code size} words, any number, of a list that is not full. */
    public RowList entry(int size) {
        if (size > words.capacity()) {
            int bytes = Long.BYTES * Math.max(size, WORDS);
            ByteBuffer memory = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
            words = memory.asLongBuffer();
            address = HostMemory.address(memory);
        }
        entries++;
        return this;
    }

    /** Adds a word to the newest entry. */
    public RowList add(long word) {
        words.put(word);
        return this;
    }

    public int entries() {
        return entries;
    }

    /** Address of the first word, for as long as nothing is added. */
    long address() {
        return address;
    }
}
