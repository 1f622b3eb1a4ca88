package org.ep4j.transport.memory;

import java.nio.ByteBuffer;

/**
 * Zeroed memory for words that peers advance. It is there for as long as something refers to it: a thread that still polls a
 * word of a buffer that another one closes reads an old value, and not memory that has another use by then.
 *
 * @param words to read them with
 * @param address of the first byte, on a cache line's boundary
 */
public record WordMemory(HostMemory words, long address) {
    private static final int LINE = 64;

    /** Allocates a number of bytes, less than 2 GiB. */
    public static WordMemory allocate(long bytes) {
        int size = Math.toIntExact(bytes);
        ByteBuffer memory = ByteBuffer.allocateDirect(size + 2 * LINE)
                .alignedSlice(LINE)
                .limit(size)
                .slice();
        return new WordMemory(HostMemory.of(memory), HostMemory.address(memory));
    }
}
