package org.ep4j.engine.sync;

import java.time.Duration;

/**
 * When a wait ends.
 *
 * @param nanos value of {@link System#nanoTime} at the end
 * @param whole how long it was, for messages
 */
public record Deadline(long nanos, Duration whole) {
    public static Deadline in(Duration duration) {
        return new Deadline(System.nanoTime() + duration.toNanos(), duration);
    }

    public boolean passed() {
        return System.nanoTime() - nanos >= 0;
    }

    /** What is left of the wait; never zero, which calls take for no wait or for a wrong argument. */
    public Duration left() {
        return Duration.ofNanos(Math.max(1, nanos - System.nanoTime()));
    }
}
