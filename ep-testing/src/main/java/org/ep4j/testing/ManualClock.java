package org.ep4j.testing;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that stands still until a test advances it. This module does not depend on {@code org.ep4j.transport.NanoClock},
 * but has its methods: a subclass in the tests of a module implements it without a line of code.
 */
public class ManualClock {
    private static final long SLEEP_NANOS = 1_000_000;

    // Close to an overflow: differences must be right there, too.
    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 1_000_000);

    /** Returns the time, in nanoseconds. */
    public long nanoTime() {
        return now.get();
    }

    /** Returns at most one millisecond, after which a waiting thread reads the time again. */
    public long longestSleep(long nanos) {
        return Math.min(nanos, SLEEP_NANOS);
    }

    /** Advances the time. */
    public void advance(Duration time) {
        now.addAndGet(time.toNanos());
    }
}
