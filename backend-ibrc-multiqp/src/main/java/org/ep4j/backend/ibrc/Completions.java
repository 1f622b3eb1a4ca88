package org.ep4j.backend.ibrc;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.engine.memory.NativeRecord;

/** Completions that a poll found, as {@code ep4j::Completion} lays them out. */
final class Completions {
    private static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
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
        LONG.set(buffer, at, id);
        INT.set(buffer, at + 8, status);
        INT.set(buffer, at + 12, vendor);
        INT.set(buffer, at + 16, immediate);
    }

    long id(int index) {
        return (long) LONG.get(buffer, index * SIZE);
    }

    /** {@code enum ibv_wc_status}; 0 is success. */
    int status(int index) {
        return (int) INT.get(buffer, index * SIZE + 8);
    }

    int vendor(int index) {
        return (int) INT.get(buffer, index * SIZE + 12);
    }

    int immediate(int index) {
        return (int) INT.get(buffer, index * SIZE + 16);
    }
}
