package org.ep4j.transport;

import java.util.concurrent.locks.LockSupport;

/** Pauses between two polls of a waiting thread. */
public final class Pause {
    /** Polls before a waiting thread begins to yield, and before it begins to sleep. */
    private static final int SPINS = 64;

    private static final int YIELDS = 1024;
    private static final long SLEEP_NANOS = 50_000;

    private static final int SLEEPS_UNTIL_CHECK = 64;

    private Pause() {}

    /**
     * Returns true every few milliseconds of a wait that has lasted for some, for checks that cost more than a poll.
     *
     * @param tries polls so far
     */
    public static boolean isTimeToCheck(int tries) {
        return tries >= YIELDS && tries % SLEEPS_UNTIL_CHECK == 0;
    }

    /**
     * Spins at first, then yields, then sleeps for short times.
     *
     * @param tries polls so far
     */
    // Two ranks may share one core; without yielding each wait would take a time slice.
    @SuppressWarnings("ThreadPriorityCheck")
    public static void after(int tries) {
        if (tries < SPINS) {
            Thread.onSpinWait();
        } else if (tries < YIELDS) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(SLEEP_NANOS);
        }
    }
}
