package org.ep4j;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * How an operation runs.
 *
 * @param after events that must have come before the operation reads its inputs
 * @param async true to return at once; the result's event tells when its contents may be read
 * @param stream native stream that a GPU operation is queued on; 0, 1 and 2 are valid streams of CUDA. On the host only 0
 * @param timeout longest wait; empty for the setting {@code ep.timeout}
 * @param multiprocessors most multiprocessors that the kernels of a GPU operation take; empty for the settings {@code
 *     ep.gpu.sms} and {@code ep.gpu.low-latency.sms}. Each rank may choose its own. No meaning on the host
 */
public record OpOptions(
        List<EpEvent> after, boolean async, long stream, Optional<Duration> timeout, OptionalInt multiprocessors) {
    /** Wait for nothing, return when done, stream 0, default timeout. */
    public static final OpOptions DEFAULT = new OpOptions(List.of(), false, 0, Optional.empty(), OptionalInt.empty());

    /** Copies the events. */
    public OpOptions {
        after = List.copyOf(after);
        if (multiprocessors.isPresent() && multiprocessors.getAsInt() < 1) {
            throw new EpArgumentException(
                    "multiprocessors", multiprocessors.getAsInt(), ">= 1", "leave it out for the setting's number");
        }
        timeout.ifPresent(t -> {
            if (t.isZero() || t.isNegative()) {
                throw new EpArgumentException("timeout", t, "above zero", "pass a positive duration");
            }
        });
    }

    /** The same, after one more event. */
    public OpOptions after(EpEvent event) {
        List<EpEvent> events = new ArrayList<>(after);
        events.add(event);
        return new OpOptions(events, async, stream, timeout, multiprocessors);
    }

    /** The same, returning at once. */
    public OpOptions asynchronous() {
        return new OpOptions(after, true, stream, timeout, multiprocessors);
    }

    /** The same, on a native stream. */
    public OpOptions onStream(long handle) {
        return new OpOptions(after, async, handle, timeout, multiprocessors);
    }

    /** The same, with a deadline of its own. */
    public OpOptions timeout(Duration longest) {
        return new OpOptions(after, async, stream, Optional.of(longest), multiprocessors);
    }

    /** The same, on at most so many multiprocessors of a GPU. */
    public OpOptions multiprocessors(int most) {
        return new OpOptions(after, async, stream, timeout, OptionalInt.of(most));
    }
}
