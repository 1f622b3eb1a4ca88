package org.ep4j.transport;

/**
 * A clock for deadlines, heartbeats and pauses. What waits takes one in its constructor, so that tests can advance time
 * instead of waiting for it. Thread-safe.
 */
@FunctionalInterface
public interface NanoClock {
    /** The clock of this JVM, {@link System#nanoTime}. */
    NanoClock SYSTEM = System::nanoTime;

    /** Nanoseconds since a fixed point in time, for differences only; the value may be negative, and may overflow. */
    long nanoTime();

    /**
     * How long a thread that waits may sleep before it has to read the clock again.
     *
     * @param nanos what is left of its wait
     * @return {@code nanos} on a clock that follows real time; a short time on one that is advanced by hand, since nobody
     *     wakes the thread then
     */
    default long longestSleep(long nanos) {
        return nanos;
    }
}
