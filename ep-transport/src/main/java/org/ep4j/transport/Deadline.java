package org.ep4j.transport;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/**
 * Point in time at which a wait ends; several steps may share one.
 *
 * @param nanoTime value of {@link System#nanoTime} then
 * @param whole length of the wait, for messages
 */
public record Deadline(long nanoTime, Duration whole) {
    public static Deadline in(Duration duration) {
        // A duration beyond 100 years would overflow the clock.
        Duration bounded = duration.compareTo(Duration.ofDays(36_500)) > 0 ? Duration.ofDays(36_500) : duration;
        return new Deadline(System.nanoTime() + bounded.toNanos(), duration);
    }

    /** The deadline that a caller gave as a value of {@link System#nanoTime}; its length, rounded up to milliseconds, begins now. */
    public static Deadline at(long nanoTime) {
        long left = Math.max(0, nanoTime - System.nanoTime());
        return new Deadline(nanoTime, Duration.ofMillis((left + 999_999) / 1_000_000));
    }

    /** Takes a lock unless the time is over before another thread releases it. Returns whether this thread holds it. */
    public boolean tryLock(Lock lock) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return lock.tryLock(nanoTime - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** True when it is over. */
    public boolean passed() {
        return nanoTime - System.nanoTime() <= 0;
    }

    /** What is left; a millisecond at least, so that a step that begins late still reports who is missing. */
    public Duration left() {
        return Duration.ofNanos(Math.max(1_000_000, nanoTime - System.nanoTime()));
    }
}
