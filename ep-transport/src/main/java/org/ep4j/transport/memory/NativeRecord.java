package org.ep4j.transport.memory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** A zeroed piece of memory outside of the heap, in native byte order, for one native call. */
public final class NativeRecord {
    private final ByteBuffer buffer;
    private final long address;

    /** Creates a record of a number of bytes, all zero. */
    public NativeRecord(int bytes) {
        this.buffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
        this.address = HostMemory.address(buffer);
    }

    /** Returns a text with a zero at its end, as native calls take it. */
    public static NativeRecord of(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        NativeRecord record = new NativeRecord(bytes.length + 1);
        record.buffer.put(0, bytes);
        return record;
    }

    /** A native call that writes a text. */
    public interface TextCall {
        /** Writes as much of the text as there is room for, ended by a zero; returns its whole length, or less than 0. */
        int write(long address, int capacity);
    }

    /** Reads the text of a native call, cut to a capacity in bytes; empty where the call gives none. */
    public static String read(int capacity, TextCall call) {
        NativeRecord record = new NativeRecord(capacity);
        int length = call.write(record.address, capacity);
        return record.text(Math.min(length, capacity - 1));
    }

    /** Address of the first byte, valid for as long as this object is referred to. */
    public long address() {
        return address;
    }

    /** Number of bytes. */
    public int size() {
        return buffer.capacity();
    }

    /** The bytes. */
    public ByteBuffer buffer() {
        return buffer;
    }

    /** Returns the 32-bit number at an index. */
    public int get(int index) {
        return buffer.getInt(4 * index);
    }

    /** Sets the 32-bit number at an index. */
    public NativeRecord set(int index, int value) {
        buffer.putInt(4 * index, value);
        return this;
    }

    /** Returns the first {@code length} bytes as UTF-8. */
    public String text(int length) {
        byte[] bytes = new byte[Math.max(0, length)];
        buffer.get(0, bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
