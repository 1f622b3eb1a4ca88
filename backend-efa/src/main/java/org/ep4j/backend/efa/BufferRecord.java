package org.ep4j.backend.efa;

import org.ep4j.engine.collective.Packing;

/**
 * What a rank tells of a buffer.
 *
 * @param number of the buffer on that rank, for records
 * @param data its memory
 */
record BufferRecord(int number, Region data) {
    /** Of a rank that has no part in the buffer. */
    static final BufferRecord ABSENT = new BufferRecord(-1, Region.ABSENT);

    byte[] encode() {
        return Packing.pack(out -> {
            out.putInt(number);
            data.write(out);
        });
    }

    static BufferRecord decode(byte[] encoded) {
        return Packing.unpack(encoded, "a buffer", in -> new BufferRecord(in.getInt(), Region.read(in)));
    }
}
