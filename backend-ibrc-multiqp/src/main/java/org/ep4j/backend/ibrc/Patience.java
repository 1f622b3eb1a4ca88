package org.ep4j.backend.ibrc;

import java.time.Duration;
import org.ep4j.engine.collective.Deadline;

/** How long a call may wait, counted from its first wait: calls that never wait read no clock. For one thread at a time. */
final class Patience {
    private Duration longest = Duration.ZERO;
    private boolean waiting;
    private boolean late;
    private long end;

    /** A call begins. */
    void begin(Duration most) {
        longest = most;
        waiting = false;
        late = false;
    }

    /**
     * True when the call has waited for too long, and has polled once since the deadline passed: a thread that got no processor until
     * then has not polled yet. Called after each poll.
     */
    boolean isOver() {
        if (!waiting) {
            waiting = true;
            end = Deadline.in(longest).nanoTime();
        }
        boolean looked = late;
        late = end - System.nanoTime() <= 0;
        return looked;
    }
}
