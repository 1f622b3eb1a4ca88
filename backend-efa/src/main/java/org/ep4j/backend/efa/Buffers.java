package org.ep4j.backend.efa;

import java.util.Arrays;
import org.ep4j.spi.HostPosted;
import org.jspecify.annotations.Nullable;

/**
 * The open buffers of this rank by their numbers, by which records name them. A number is given once, so that what comes late
 * cannot reach a younger buffer. Safe for use from several threads.
 */
final class Buffers {
    private volatile @Nullable Counters[] open = new Counters[0];

    /** A number for a buffer. */
    synchronized int add(Counters counters) {
        @Nullable Counters[] more = Arrays.copyOf(open, open.length + 1);
        more[open.length] = counters;
        open = more;
        return more.length - 1;
    }

    synchronized void remove(int number) {
        @Nullable Counters[] less = open.clone();
        less[number] = null;
        open = less;
    }

    /** For what comes from one source. What concerns a buffer that is closed is forgotten. */
    Arrivals.Sink from(int source) {
        return new Arrivals.Sink() {
            @Override
            public void advance(int buffer, int counter, long value) {
                Counters counters = find(buffer);
                if (counters != null && counter >= 0 && counter < HostPosted.COUNTERS) {
                    counters.set(source, counter, value);
                }
            }

            @Override
            public void closed(int buffer) {
                Counters counters = find(buffer);
                if (counters != null) {
                    counters.close(source);
                }
            }
        };
    }

    private @Nullable Counters find(int number) {
        @Nullable Counters[] now = open;
        return number >= 0 && number < now.length ? now[number] : null;
    }
}
