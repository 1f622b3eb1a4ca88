package org.ep4j.backend.ibrc;

import java.util.List;
import org.ep4j.engine.collective.Packing;

/**
 * What a rank tells of a buffer.
 *
 * @param bytes its size, which must be the same everywhere
 * @param number of the buffer on that rank, for immediates
 * @param data its memory
 * @param counters its counters
 */
record BufferRecord(long bytes, int number, Region.Remote data, Region.Remote counters) {
    /** Of a rank that has no part in the buffer. */
    static final BufferRecord ABSENT =
            new BufferRecord(0, -1, new Region.Remote(0, List.of()), new Region.Remote(0, List.of()));

    byte[] encode() {
        return Packing.pack(out -> {
            out.putLong(bytes).putInt(number);
            data.write(out);
            counters.write(out);
        });
    }

    static BufferRecord decode(byte[] encoded) {
        return Packing.unpack(
                encoded,
                "a buffer",
                in -> new BufferRecord(in.getLong(), in.getInt(), Region.Remote.read(in), Region.Remote.read(in)));
    }
}
