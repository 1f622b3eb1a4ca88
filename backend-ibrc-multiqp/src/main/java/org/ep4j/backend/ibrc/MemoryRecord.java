package org.ep4j.backend.ibrc;

import java.nio.ByteBuffer;
import java.util.List;
import org.ep4j.engine.collective.Packing;

/**
 * Registered memory of a rank as others write to it.
 *
 * @param address first byte
 * @param keys remote keys, by index of the rank's port
 */
record MemoryRecord(long address, List<Integer> keys) {
    MemoryRecord {
        keys = List.copyOf(keys);
    }

    void write(ByteBuffer out) {
        out.putLong(address);
        Packing.ints(out, keys);
    }

    static MemoryRecord read(ByteBuffer in) {
        return new MemoryRecord(in.getLong(), Packing.ints(in));
    }
}
