package org.ep4j.engine.bootstrap;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import org.ep4j.transport.NanoClock;

/** Logs refused connections, at most ten a minute, since any process can cause them. One thread at a time. */
final class RefusalLog {
    /** Most lines in any {@link #PERIOD}. */
    static final int MOST = 10;

    static final Duration PERIOD = Duration.ofMinutes(1);

    private final Logger log;
    private final NanoClock clock;
    private final ArrayDeque<Long> lines = new ArrayDeque<>();
    private long left;

    RefusalLog(Logger log, NanoClock clock) {
        this.log = log;
        this.clock = clock;
    }

    /** Logs or counts a refusal. */
    void refused(String remote, String why) {
        long now = clock.nanoTime();
        while (!lines.isEmpty() && now - lines.element() >= PERIOD.toNanos()) {
            lines.remove();
        }
        if (lines.size() < MOST) {
            lines.add(now);
            sumUp();
            log.log(Level.WARNING, "the rendezvous refused {0}: {1}", remote, why);
        } else {
            left++;
        }
    }

    /** Logs the number of lines that were left out since the last call. */
    void sumUp() {
        if (left > 0) {
            log.log(
                    Level.WARNING,
                    "the rendezvous refused {0} more connections; at most {1} a minute are logged one by one",
                    Long.toString(left),
                    MOST);
            left = 0;
        }
    }
}
