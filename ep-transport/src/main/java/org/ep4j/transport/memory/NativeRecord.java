package org.ep4j.transport.memory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** A zeroed piece of memory outside of the heap, in native byte order, for one native call. */
public final class NativeRecord {
    private final ByteBuffer buffer;
    private final long address;

    /** Of that many bytes, all zero. */
    public NativeRecord(int bytes) {
        this.buffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
        this.address = HostMemory.address(buffer);
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

    /** The 32-bit number at an index. */
    public int get(int index) {
        return buffer.getInt(4 * index);
    }

    /** Sets the 32-bit number at an index. */
    public NativeRecord set(int index, int value) {
        buffer.putInt(4 * index, value);
        return this;
    }

    /** The first {@code length} bytes as UTF-8. */
    public String text(int length) {
        byte[] bytes = new byte[Math.max(0, length)];
        buffer.get(0, bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
