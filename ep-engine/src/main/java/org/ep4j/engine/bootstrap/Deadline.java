package org.ep4j.engine.bootstrap;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.ep4j.transport.NanoClock;

/**
 * A point in time that a wait may not pass.
 *
 * @param clock that time is measured by
 * @param start time at the beginning
 * @param nanos length of the wait
 */
record Deadline(NanoClock clock, long start, long nanos) {
    private static final Duration LONGEST = Duration.ofDays(365);

    static Deadline in(Duration wait, NanoClock clock) {
        Duration clamped = wait.compareTo(LONGEST) > 0 ? LONGEST : wait.isNegative() ? Duration.ZERO : wait;
        return new Deadline(clock, clock.nanoTime(), clamped.toNanos());
    }

    /** This point or {@code wait} from now, whichever comes first. */
    Deadline atMost(Duration wait) {
        Deadline other = in(wait, clock);
        return other.remainingNanos() < remainingNanos() ? other : this;
    }

    /** What is left; zero or less when it has passed. */
    long remainingNanos() {
        return nanos - (clock.nanoTime() - start);
    }

    /** What is left in whole milliseconds, for socket options: at least 1, since 0 would mean forever. */
    int remainingMillis() {
        return millis(remainingNanos());
    }

    /** How long a thread may sleep before it asks again whether this has passed, in milliseconds: at least 1. */
    int sleepMillis() {
        return millis(clock.longestSleep(remainingNanos()));
    }

    private static int millis(long nanos) {
        return (int) Math.max(1, Math.min(Integer.MAX_VALUE, nanos / 1_000_000));
    }

    /** Waits for a latch; false when it was not open in time. */
    boolean await(CountDownLatch latch) throws InterruptedException {
        while (true) {
            long left = remainingNanos();
            if (latch.await(clock.longestSleep(left), TimeUnit.NANOSECONDS)) {
                return true;
            }
            if (left <= 0) {
                return false;
            }
        }
    }

    /**
     * Waits for a latch, through interrupts, which stay set: for ends that must be orderly also in an interrupted thread.
     * False when the latch was not open in time.
     */
    boolean awaitThroughInterrupts(CountDownLatch latch) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return await(latch);
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

    /** What is left; zero when it has passed. */
    Duration remaining() {
        return Duration.ofNanos(Math.max(0, remainingNanos()));
    }

    boolean passed() {
        return remainingNanos() <= 0;
    }

    /** Time since the beginning, for messages. */
    String elapsed() {
        return String.format(Locale.ROOT, "%.1f s", (clock.nanoTime() - start) / 1e9);
    }
}
