package org.ep4j.engine.membership;

import java.util.concurrent.locks.LockSupport;

/** Pause of a thread between two polls: first it spins, then it yields, then it sleeps. For one wait. */
final class Backoff {
    private static final int SPINS = 100;
    private static final int YIELDS = 200;
    private static final long PARK_NANOS = 100_000;

    private int polls;

    /** Pauses before the next poll. */
    @SuppressWarnings("ThreadPriorityCheck") // giving up the processor is what lets the awaited rank run
    void pause() {
        polls++;
        if (polls < SPINS) {
            Thread.onSpinWait();
        } else if (polls < SPINS + YIELDS) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(PARK_NANOS);
        }
    }
}
