package org.ep4j.engine.bootstrap;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.testing.ManualClock;
import org.ep4j.transport.NanoClock;

/** A clock that stands still until a test advances it. */
final class TestClock extends ManualClock implements NanoClock {
    /** A clock that each reading advances: the same number of attempts fits in a deadline on every machine. */
    static NanoClock advancedByEachLook(Duration step) {
        AtomicLong now = new AtomicLong();
        return () -> now.addAndGet(step.toNanos());
    }
}
