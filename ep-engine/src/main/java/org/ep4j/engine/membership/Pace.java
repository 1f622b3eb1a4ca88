package org.ep4j.engine.membership;

import java.util.concurrent.locks.LockSupport;

/** How long a loop that polls rests between two looks: first not at all, then ever longer. For one wait. */
final class Pace {
    private static final int SPINS = 100;
    private static final int YIELDS = 200;
    private static final long PARK_NANOS = 100_000;

    private int polls;

    /** Rests a little. */
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
