package org.ep4j.engine.rows;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import org.ep4j.engine.memory.HostMemory;

/** A list of what native code is to do, as 64-bit words in memory outside of the heap. One thread at a time. */
public final class RowList {
    private static final int WORDS = 8192;

    private LongBuffer words;
    private long address;
    private int entries;

    /** An empty list. */
    public RowList() {
        allocate(WORDS);
    }

    private void allocate(int size) {
        ByteBuffer memory = ByteBuffer.allocateDirect(Long.BYTES * size).order(ByteOrder.nativeOrder());
        words = memory.asLongBuffer();
        address = HostMemory.address(memory);
    }

    /** Empties it. */
    public void clear() {
        words.clear();
        entries = 0;
    }

    /** Whether another entry of so many words fits; one of any length fits into an empty list. */
    public boolean fits(int size) {
        if (entries == 0 && size > words.capacity()) {
            allocate(size);
        }
        return size <= words.remaining();
    }

    /** Begins an entry, whose words follow. */
    public RowList entry() {
        entries++;
        return this;
    }

    /** Adds a word of the entry that was begun last. */
    public RowList add(long word) {
        words.put(word);
        return this;
    }

    /** Number of entries. */
    public int entries() {
        return entries;
    }

    /** Address of the first word, for as long as nothing is added. */
    long address() {
        return address;
    }
}
