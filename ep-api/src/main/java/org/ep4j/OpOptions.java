package org.ep4j;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How an operation runs.
 *
 * @param after events that must have come before the operation reads its inputs
 * @param async true to return at once; the result's event completes when its contents may be read
 * @param stream native stream that a GPU operation is queued on; 0, 1 and 2 are valid streams of CUDA. On the host only 0
 * @param timeout longest wait; empty for the setting {@code ep.timeout}
 */
public record OpOptions(List<EpEvent> after, boolean async, long stream, Optional<Duration> timeout) {
    /** Options of an operation that waits for no event and returns when it is done: stream 0, default timeout. */
    public static final OpOptions DEFAULT = new OpOptions(List.of(), false, 0, Optional.empty());

    /** Copies the events. */
    public OpOptions {
        after = List.copyOf(after);
        timeout.ifPresent(t -> {
            if (t.isZero() || t.isNegative()) {
                throw new EpArgumentException("timeout", t, "above zero", "pass a positive duration");
            }
        });
    }

    /** Returns a copy for operations that also wait for {@code event} before they read their inputs. */
    public OpOptions after(EpEvent event) {
        List<EpEvent> events = new ArrayList<>(after);
        events.add(event);
        return new OpOptions(events, async, stream, timeout);
    }

    /** Returns a copy for operations that return at once. */
    public OpOptions asynchronous() {
        return new OpOptions(after, true, stream, timeout);
    }

    /** Returns a copy for operations on the native stream {@code handle}. */
    public OpOptions onStream(long handle) {
        return new OpOptions(after, async, handle, timeout);
    }

    /** Returns a copy for operations that wait at most {@code longest}. */
    public OpOptions timeout(Duration longest) {
        return new OpOptions(after, async, stream, Optional.of(longest));
    }
}
