package org.ep4j.engine.rows;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import org.ep4j.transport.memory.HostMemory;

/** A list of what native code is to do, as 64-bit words in memory outside of the heap. One thread at a time. */
public final class RowList {
    private static final int WORDS = 8192;

    /** Allocated with the first entry: rows in Java have none. */
    private LongBuffer words = LongBuffer.allocate(0);

    private long address;
    private int entries;

    private void allocate(int size) {
        ByteBuffer memory = ByteBuffer.allocateDirect(Long.BYTES * size).order(ByteOrder.nativeOrder());
        words = memory.asLongBuffer();
        address = HostMemory.address(memory);
    }

    public void clear() {
        words.clear();
        entries = 0;
    }

    /**
     * Whether entries must be removed before another one.
     *
     * @param size words of that entry
     */
    public boolean isFull(int size) {
        return entries > 0 && size > words.remaining();
    }

    /**
     * Begins an entry of a list that is not full; its words follow.
     *
     * @param size words of the entry, any number
     */
    public RowList entry(int size) {
        if (size > words.capacity()) {
            allocate(Math.max(size, WORDS));
        }
        entries++;
        return this;
    }

    /** Adds a word of the entry that was begun last. */
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
