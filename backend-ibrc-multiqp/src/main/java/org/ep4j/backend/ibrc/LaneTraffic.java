package org.ep4j.backend.ibrc;

import java.util.concurrent.atomic.AtomicLong;

/** What a queue pair has carried. Written under the lock of its link, read without. */
final class LaneTraffic {
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong writes = new AtomicLong();
    private final AtomicLong adds = new AtomicLong();
    private final AtomicLong replays = new AtomicLong();

    void count(Request request) {
        if (request.writes()) {
            add(writes, 1);
            add(bytes, request.length);
        }
        if (request.counted != null) {
            counted();
        }
    }

    /** A write counts, too. */
    void counted() {
        add(adds, 1);
    }

    void replayed() {
        add(replays, 1);
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

    long adds() {
        return adds.get();
    }

    long replays() {
        return replays.get();
    }
}
