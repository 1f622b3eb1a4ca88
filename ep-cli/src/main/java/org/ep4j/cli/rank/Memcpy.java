package org.ep4j.cli.rank;

import java.nio.ByteBuffer;

/**
 * The ceiling of a host exchange: a plain copy of the same bytes in row-sized pieces, between two buffers too large for
 * any cache, each copy going on where the one before ended.
 */
final class Memcpy {
    /** Several times the last-level cache of common processors. */
    private static final long LEAST = 128L << 20;

    private static final long MOST = 1L << 29;

    private final ByteBuffer source;
    private final ByteBuffer target;
    private int position;

    /** Buffers for copies of up to about {@code bytes}, filled and touched. */
    Memcpy(long bytes) {
        int size = bytes == 0 ? 0 : (int) Math.min(MOST, Math.max(LEAST, 2 * bytes));
        source = ByteBuffer.allocateDirect(size);
        target = ByteBuffer.allocateDirect(size);
        long word = 0;
        for (int at = 0; at + Long.BYTES <= size; at += Long.BYTES) {
            word += 0x9E3779B97F4A7C15L;
            source.putLong(at, word);
        }
        target.put(0, source, 0, size);
    }

    /** Copies {@code bytes} in pieces of {@code row}. */
    void copy(long bytes, int row) {
        int end = source.capacity() - row;
        for (long done = 0; done < bytes; done += row) {
            if (position > end) {
                position = 0;
            }
            target.put(position, source, position, row);
            position += row;
        }
    }
}
