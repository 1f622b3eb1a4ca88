package org.ep4j.testing;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Time limits that end a test which hangs. Events that must happen may take as long as the machine needs, so a guard is a minute or more,
 * and one factor scales all guards: the environment variable {@value #VARIABLE}, which {@code ./verify} sets, too.
 */
public final class Guard {
    /** Environment variable with an integer from 1 to 100; 1 where it is not set. The conformance kit reads it, too. */
    public static final String VARIABLE = "EP_TCK_PATIENCE";

    private static final Duration MINUTE = Duration.ofSeconds(60);
    private static final long PAUSE_NANOS = 1_000_000;

    private Guard() {}

    /** Returns a minute, scaled for this machine: for one event that must happen. */
    public static Duration minute() {
        return minutes(1, System.getenv());
    }

    /** Returns a number of minutes, scaled for this machine. */
    public static Duration minutes(int count) {
        return minutes(count, System.getenv());
    }

    static Duration minutes(int count, Map<String, String> environment) {
        return MINUTE.multipliedBy((long) count * Integer.parseInt(environment.getOrDefault(VARIABLE, "1")));
    }

    /**
     * Waits until a condition holds.
     *
     * @param what names the condition in the error
     * @throws AssertionError when the condition does not hold within {@link #minute}
     */
    public static void until(String what, BooleanSupplier holds) {
        long start = System.nanoTime();
        long limit = minute().toNanos();
        while (!holds.getAsBoolean()) {
            if (System.nanoTime() - start > limit) {
                throw new AssertionError("not so after " + limit / 1_000_000_000 + " s: " + what);
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new AssertionError("interrupted while it waited until " + what);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /**
     * Waits until a latch is at 0.
     *
     * @throws AssertionError when the latch is not at 0 within {@link #minute}
     */
    public static void await(CountDownLatch latch) {
        try {
            if (!latch.await(minute().toNanos(), TimeUnit.NANOSECONDS)) {
                throw new AssertionError("still " + latch.getCount() + " to count after " + minute());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while it waited for a latch", e);
        }
    }
}
