package org.ep4j.backend.efa;

import java.nio.ByteBuffer;
import org.ep4j.transport.memory.NativeRecord;

/** Completions that a poll found, as {@code ep4j::Completion} lays them out. */
final class Completions {
    /** A write of this rank is done: see {@link Wire#write}. */
    static final int SENT = 0;

    /** An immediate has come, and the bytes that it came with are in memory. */
    static final int CAME = 1;

    /** A write of this rank has failed. */
    static final int FAILED = 2;

    /** Something else has failed. */
    static final int BROKEN = 3;

    private static final int SIZE = 16;

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

    void set(int index, int kind, int slot, int immediate, int error) {
        int at = index * SIZE;
        buffer.putInt(at, kind);
        buffer.putInt(at + 4, slot);
        buffer.putInt(at + 8, immediate);
        buffer.putInt(at + 12, error);
    }

    int kind(int index) {
        return buffer.getInt(index * SIZE);
    }

    int slot(int index) {
        return buffer.getInt(index * SIZE + 4);
    }

    int immediate(int index) {
        return buffer.getInt(index * SIZE + 8);
    }

    int error(int index) {
        return buffer.getInt(index * SIZE + 12);
    }
}
