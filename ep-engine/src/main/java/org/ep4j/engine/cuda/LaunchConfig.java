package org.ep4j.engine.cuda;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;

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

    private final Memory memory = new Memory(BYTES + ATTRIBUTE_BYTES);

    LaunchConfig() {
        memory.clear();
        memory.setLong(ATTRIBUTES, Pointer.nativeValue(memory) + BYTES);
        memory.setInt(ATTRIBUTE_COUNT, 1);
        memory.setInt(BYTES, PROGRAMMATIC_STREAM_SERIALIZATION);
        memory.setInt(BYTES + VALUE, 1);
    }

    /** Its address, good until the next call. */
    long of(int blocks, int threads, int sharedBytes, long stream) {
        int[] sizes = {blocks, 1, 1, threads, 1, 1, sharedBytes};
        memory.write(0, sizes, 0, sizes.length);
        memory.setLong(STREAM, stream);
        return Pointer.nativeValue(memory);
    }
}
