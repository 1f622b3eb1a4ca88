package org.ep4j.backend.efa;

import java.util.concurrent.atomic.AtomicLong;

/** What a rail has carried. Written under the lock of its link, read without. */
final class RailTraffic {
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong writes = new AtomicLong();
    private final AtomicLong records = new AtomicLong();

    void wrote(long length) {
        add(writes, 1);
        add(bytes, length);
    }

    void ended() {
        add(records, 1);
    }

    /** There is one writer, so this needs no atomic operation of the processor. */
    private static void add(AtomicLong to, long amount) {
        to.setRelease(to.getPlain() + amount);
    }

    long bytes() {
        return bytes.get();
    }

    long writes() {
        return writes.get();
    }

    long records() {
        return records.get();
    }
}
