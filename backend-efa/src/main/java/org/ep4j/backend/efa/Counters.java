package org.ep4j.backend.efa;

import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.spi.HostPosted;

/** The counters of one buffer on this rank, and which sources have closed it. Safe for use from several threads. */
final class Counters {
    private final AtomicLongArray values;
    private final AtomicLongArray closed;

    /** For so many sources, by their index. */
    Counters(int sources) {
        this.values = new AtomicLongArray(sources * HostPosted.COUNTERS);
        this.closed = new AtomicLongArray(sources);
    }

    void set(int source, int counter, long value) {
        values.setRelease(source * HostPosted.COUNTERS + counter, value);
    }

    long get(int source, int counter) {
        return values.getAcquire(source * HostPosted.COUNTERS + counter);
    }

    void close(int source) {
        closed.setRelease(source, 1);
    }

    boolean isClosed(int source) {
        return closed.getAcquire(source) != 0;
    }
}
