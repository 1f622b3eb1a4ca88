package org.ep4j.backend.ibrc;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.ep4j.engine.memory.HostMemory;

/** A zeroed piece of memory outside of the heap, in native byte order, for one native call. */
final class NativeRecord {
    private final ByteBuffer buffer;
    private final long address;

    NativeRecord(int bytes) {
        this.buffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
        this.address = HostMemory.address(buffer);
    }

    long address() {
        return address;
    }

    int size() {
        return buffer.capacity();
    }

    ByteBuffer buffer() {
        return buffer;
    }

    /** The 32-bit number at an index. */
    int get(int index) {
        return buffer.getInt(4 * index);
    }

    NativeRecord set(int index, int value) {
        buffer.putInt(4 * index, value);
        return this;
    }

    String text(int length) {
        byte[] bytes = new byte[Math.max(0, length)];
        buffer.get(0, bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
