package org.ep4j.backend.efa;

import java.util.List;

/**
 * Registered memory of a rank.
 *
 * @param address first byte
 * @param keys by place
 */
record Region(long address, List<Keys> keys) {
    /** Of a rank that has no part in a buffer. */
    static final Region ABSENT = new Region(0, List.of());

    Region {
        keys = List.copyOf(keys);
    }
}
