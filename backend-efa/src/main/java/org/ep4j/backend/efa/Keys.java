package org.ep4j.backend.efa;

import java.nio.ByteBuffer;

/**
 * The keys of memory at one place: a NIC, or an endpoint where a provider registers memory for endpoints. For a peer they are
 * remote keys, for the rank itself local descriptors. There is one for every {@code chunk} bytes.
 */
final class Keys {
    /** One key for all. */
    static final long WHOLE = Long.MAX_VALUE;

    private final boolean virtual;
    private final long chunk;
    private final long[] values;

    /**
     * Keys.
     *
     * @param virtual true when peers give addresses, false when they give offsets
     * @param chunk bytes of each but the last
     */
    Keys(boolean virtual, long chunk, long[] values) {
        this.virtual = virtual;
        this.chunk = chunk;
        this.values = values.clone();
    }

    long at(long offset) {
        return values[(int) (offset / chunk)];
    }

    /** What a write to an offset of memory that begins at {@code address} is told. */
    long target(long address, long offset) {
        return virtual ? address + offset : offset % chunk;
    }

    /** Bytes from an offset to where another key begins. */
    long left(long offset) {
        return chunk - offset % chunk;
    }

    void write(ByteBuffer out) {
        out.put((byte) (virtual ? 1 : 0)).putLong(chunk).putInt(values.length);
        for (long value : values) {
            out.putLong(value);
        }
    }

    static Keys read(ByteBuffer in) {
        boolean virtual = in.get() != 0;
        long chunk = in.getLong();
        int count = in.getInt();
        if (chunk <= 0 || count < 0 || count > in.remaining() / Long.BYTES) {
            throw new IllegalArgumentException("chunks of " + chunk + ", count " + count);
        }
        long[] values = new long[count];
        for (int i = 0; i < count; i++) {
            values[i] = in.getLong();
        }
        return new Keys(virtual, chunk, values);
    }
}
