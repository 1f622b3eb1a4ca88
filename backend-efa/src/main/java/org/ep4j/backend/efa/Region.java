package org.ep4j.backend.efa;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Registered memory of a rank.
 *
 * @param address first byte
 * @param bytes length
 * @param keys by place
 */
record Region(long address, long bytes, List<Keys> keys) {
    /** Of a rank that has no part in a buffer. */
    static final Region ABSENT = new Region(0, 0, List.of());

    Region {
        keys = List.copyOf(keys);
    }

    void write(ByteBuffer out) {
        out.putLong(address).putLong(bytes).putInt(keys.size());
        keys.forEach(one -> one.write(out));
    }

    static Region read(ByteBuffer in) {
        long address = in.getLong();
        long bytes = in.getLong();
        int count = in.getInt();
        List<Keys> keys = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            keys.add(Keys.read(in));
        }
        return new Region(address, bytes, keys);
    }
}
