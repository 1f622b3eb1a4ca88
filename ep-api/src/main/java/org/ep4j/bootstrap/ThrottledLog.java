package org.ep4j.bootstrap;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.function.LongSupplier;

/** Warnings of which strangers could cause any number: at most ten a minute, then one line with how many were left out. */
final class ThrottledLog {
    static final int MOST = 10;

    private static final long WINDOW_NANOS = Duration.ofMinutes(1).toNanos();
    private static final Logger LOG = System.getLogger(RendezvousServer.class.getName());

    private final LongSupplier clock;
    private long windowStart;
    private int lines;
    private long suppressed;

    /**
     * A log.
     *
     * @param clock in nanoseconds
     */
    ThrottledLog(LongSupplier clock) {
        this.clock = clock;
        this.windowStart = clock.getAsLong();
    }

    /** Logs, unless the minute has had its lines. */
    synchronized void warn(String text) {
        turn(false);
        if (lines < MOST) {
            lines++;
            LOG.log(Level.WARNING, text);
        } else {
            suppressed++;
        }
    }

    /** Says what was left out once the minute is over, or at once at the end. */
    synchronized void turn(boolean atOnce) {
        long now = clock.getAsLong();
        if (!atOnce && now - windowStart < WINDOW_NANOS) {
            return;
        }
        if (suppressed > 0) {
            LOG.log(Level.WARNING, "the rendezvous left out {0} more such lines", Long.toString(suppressed));
        }
        windowStart = now;
        lines = 0;
        suppressed = 0;
    }
}
