package org.ep4j.backend.ibrc;

import java.nio.ByteBuffer;
import org.ep4j.engine.memory.NativeRecord;

/** Completions that a poll found, as {@code ep4j::Completion} lays them out. */
final class Completions {
    private static final int SIZE = 24;

    private final NativeRecord record;
    private final ByteBuffer buffer;
    private final int capacity;

    Completions(int capacity) {
        this.record = new NativeRecord(capacity * SIZE);
        this.buffer = record.buffer();
        this.capacity = capacity;
    }

    int capacity() {
        return capacity;
    }

    long address() {
        return record.address();
    }

    void set(int index, long id, int status, int vendor, int immediate) {
        int at = index * SIZE;
        buffer.putLong(at, id);
        buffer.putInt(at + 8, status);
        buffer.putInt(at + 12, vendor);
        buffer.putInt(at + 16, immediate);
    }

    long id(int index) {
        return buffer.getLong(index * SIZE);
    }

    /** {@code enum ibv_wc_status}; 0 is success. */
    int status(int index) {
        return buffer.getInt(index * SIZE + 8);
    }

    int vendor(int index) {
        return buffer.getInt(index * SIZE + 12);
    }

    int immediate(int index) {
        return buffer.getInt(index * SIZE + 16);
    }
}
