package org.ep4j.transport.posted;

import java.util.concurrent.locks.LockSupport;

/** Pause for NICs without events: yields for a moment after something has moved, then sleeps for longer and longer. */
public final class BackoffPause implements PollPause {
    /** First and longest sleep. A call that waits polls itself, so a thread that wakes often only takes CPU time from others. */
    private static final long FIRST_NANOS = 20_000;

    private static final long LONGEST_NANOS = 1_000_000;

    /** Time after a movement without sleep: sleeping and waking take longer than most writes. */
    private static final long AWAKE_NANOS = 100_000;

    private final String name;
    private long nanos = FIRST_NANOS;
    private long sleepAfter = System.nanoTime();

    /** Creates the pause of a thread with this name. */
    public BackoffPause(String name) {
        this.name = name;
    }

    @Override
    public String name() {
        return name;
    }

    // The rank that bytes are moved for may be waiting for this processor.
    @SuppressWarnings("ThreadPriorityCheck")
    @Override
    public void pause(boolean moved) {
        long now = System.nanoTime();
        if (moved) {
            nanos = FIRST_NANOS;
            sleepAfter = now + AWAKE_NANOS;
        } else if (sleepAfter - now > 0) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(nanos);
            nanos = Math.min(LONGEST_NANOS, 2 * nanos);
        }
    }
}
