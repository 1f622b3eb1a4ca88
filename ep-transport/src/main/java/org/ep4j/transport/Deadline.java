package org.ep4j.transport;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/**
 * Point in time at which a wait ends; several steps may share one.
 *
 * @param clock that time is measured by
 * @param nanoTime what it shows then
 * @param whole length of the wait, for messages
 */
public record Deadline(NanoClock clock, long nanoTime, Duration whole) {
    /** The clock would overflow beyond 292 years. */
    private static final Duration LONGEST = Duration.ofDays(36_500);

    public Deadline(long nanoTime, Duration whole) {
        this(NanoClock.SYSTEM, nanoTime, whole);
    }

    public static Deadline in(Duration duration) {
        return in(duration, NanoClock.SYSTEM);
    }

    public static Deadline in(Duration duration, NanoClock clock) {
        return new Deadline(clock, clock.nanoTime() + bounded(duration), duration);
    }

    private static long bounded(Duration duration) {
        Duration most = duration.compareTo(LONGEST) > 0 ? LONGEST : duration;
        return most.isNegative() ? 0 : most.toNanos();
    }

    /** Returns this point or {@code wait} from now, the earlier of the two. */
    public Deadline atMost(Duration wait) {
        Deadline other = in(wait, clock);
        return other.nanoTime - nanoTime < 0 ? other : this;
    }

    /** Returns the deadline that a caller gave as a value of {@link System#nanoTime}; its length, rounded up to milliseconds, begins now. */
    public static Deadline at(long nanoTime) {
        long left = Math.max(0, nanoTime - System.nanoTime());
        return new Deadline(nanoTime, Duration.ofMillis((left + 999_999) / 1_000_000));
    }

    /** Takes a lock unless the time is over before another thread releases it; returns whether this thread holds it. */
    public boolean tryLock(Lock lock) {
        return throughInterrupts(() -> lock.tryLock(remainingNanos(), TimeUnit.NANOSECONDS));
    }

    /** Returns true if this point has passed. */
    public boolean passed() {
        return remainingNanos() <= 0;
    }

    /** Returns the time left; a millisecond at least, so that a step that begins late still reports who is missing. */
    public Duration left() {
        return Duration.ofNanos(Math.max(1_000_000, remainingNanos()));
    }

    /** Returns the time left; zero or less when it has passed. */
    public long remainingNanos() {
        return nanoTime - clock.nanoTime();
    }

    /** Returns the time left in whole milliseconds, for socket options: at least 1, since 0 would mean forever. */
    public int remainingMillis() {
        return millis(remainingNanos());
    }

    /** Returns how long a thread may sleep before it checks again whether this has passed, in milliseconds: at least 1. */
    public int sleepMillis() {
        return millis(clock.longestSleep(remainingNanos()));
    }

    private static int millis(long nanos) {
        return (int) Math.max(1, Math.min(Integer.MAX_VALUE, nanos / 1_000_000));
    }

    /** Waits for a latch; returns false if it was not open in time. */
    public boolean await(CountDownLatch latch) throws InterruptedException {
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
     * Returns false if the latch was not open in time.
     */
    public boolean awaitThroughInterrupts(CountDownLatch latch) {
        return throughInterrupts(() -> await(latch));
    }

    /** Waits for the end of threads, through interrupts, which stay set; returns the names of those that still run. */
    public List<String> awaitEnd(List<Thread> threads) {
        throughInterrupts(() -> {
            for (Thread thread : threads) {
                while (thread.isAlive() && !passed()) {
                    thread.join(1 + left().toMillis());
                }
            }
            return true;
        });
        return threads.stream().filter(Thread::isAlive).map(Thread::getName).toList();
    }

    private interface Wait {
        boolean run() throws InterruptedException;
    }

    private static boolean throughInterrupts(Wait wait) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return wait.run();
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

    /** Returns the time since the wait began, for messages. */
    public String elapsed() {
        return String.format(Locale.ROOT, "%.1f s", (bounded(whole) - remainingNanos()) / 1e9);
    }
}
