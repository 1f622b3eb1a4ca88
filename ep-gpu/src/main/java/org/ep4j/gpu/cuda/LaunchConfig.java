package org.ep4j.gpu.cuda;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.transport.memory.HostMemory;

/**
 * {@code CUlaunchConfig} of {@code cuda.h} with one attribute: the kernel may begin before the one before it in its stream has
 * ended (programmatic stream serialization; Hopper and newer). One thread at a time.
 */
final class LaunchConfig {
    /** Size of {@code CUlaunchConfig}: seven unsigned ints, the stream, the attributes' address and number. */
    static final int BYTES = 56;

    /** Size of {@code CUlaunchAttribute}: the id, and a union of 64 bytes. */
    static final int ATTRIBUTE_BYTES = 72;

    private static final int STREAM = 32;
    private static final int ATTRIBUTES = 40;
    private static final int ATTRIBUTE_COUNT = 48;
    private static final int VALUE = 8;
    private static final int PROGRAMMATIC_STREAM_SERIALIZATION = 6;

    private final ByteBuffer memory =
            ByteBuffer.allocateDirect(BYTES + ATTRIBUTE_BYTES).order(ByteOrder.nativeOrder());
    private final long address = HostMemory.address(memory);

    LaunchConfig() {
        memory.putLong(ATTRIBUTES, address + BYTES);
        memory.putInt(ATTRIBUTE_COUNT, 1);
        memory.putInt(BYTES, PROGRAMMATIC_STREAM_SERIALIZATION);
        memory.putInt(BYTES + VALUE, 1);
    }

    /** Its address, good until the next call, as long as this can be reached. */
    long of(int blocks, int threads, int sharedBytes, long stream) {
        put(0, blocks);
        put(3, threads);
        memory.putInt(4 * 6, sharedBytes);
        memory.putLong(STREAM, stream);
        return address;
    }

    /** Three sizes, of which two are 1. */
    private void put(int index, int size) {
        memory.putInt(4 * index, size).putInt(4 * index + 4, 1).putInt(4 * index + 8, 1);
    }
}
