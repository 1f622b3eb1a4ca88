package org.ep4j;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apiguardian.api.API;

/**
 * How the operations of a buffer run, see {@link EpBuffer#withOptions}: which stream they are queued on, whether a call
 * waits for its operation, and for how long. Immutable: what sets an option returns a changed copy.
 */
@API(status = API.Status.STABLE, since = "0.1")
public final class OpOptions {
    /** Options of operations that wait for no event and return when they are done: stream 0, default timeout. */
    public static final OpOptions DEFAULT = new OpOptions(List.of(), false, 0, Optional.empty());

    private final List<EpEvent> after;
    private final boolean asynchronous;
    private final long stream;
    private final Optional<Duration> timeout;

    private OpOptions(List<EpEvent> after, boolean asynchronous, long stream, Optional<Duration> timeout) {
        this.after = after;
        this.asynchronous = asynchronous;
        this.stream = stream;
        this.timeout = timeout;
    }

    /**
     * Returns a copy for operations on a native stream.
     *
     * @param handle {@code CUstream} or {@code hipStream_t}; 0, 1 and 2 are valid streams of CUDA. On the host only 0
     */
    public OpOptions onStream(long handle) {
        return new OpOptions(after, asynchronous, handle, timeout);
    }

    /** Returns a copy for calls that return at once; the result's event completes when its contents may be read. */
    public OpOptions asynchronous() {
        return new OpOptions(after, true, stream, timeout);
    }

    /** Returns a copy for calls that return when the operation is done. */
    public OpOptions synchronous() {
        return new OpOptions(after, false, stream, timeout);
    }

    /** Returns a copy for operations that also wait for {@code event} before they read their inputs. */
    public OpOptions after(EpEvent event) {
        List<EpEvent> events = new ArrayList<>(after);
        events.add(event);
        return new OpOptions(List.copyOf(events), asynchronous, stream, timeout);
    }

    /**
     * Returns a copy for operations with this timeout instead of {@code ep.timeout}.
     *
     * @param timeout longest wait for other ranks
     * @throws EpArgumentException when it is not above zero
     */
    public OpOptions timeout(Duration timeout) {
        if (timeout.isZero() || timeout.isNegative()) {
            throw new EpArgumentException("timeout", timeout, "above zero", "pass a positive duration");
        }
        return new OpOptions(after, asynchronous, stream, Optional.of(timeout));
    }

    /** Native stream that GPU operations are queued on. */
    public long stream() {
        return stream;
    }

    /** Returns true if calls return at once. */
    public boolean isAsynchronous() {
        return asynchronous;
    }

    /** Events that operations wait for before they read their inputs. */
    public List<EpEvent> after() {
        return after;
    }

    /** Longest wait; empty for the setting {@code ep.timeout}. */
    public Optional<Duration> timeout() {
        return timeout;
    }

    private List<Object> values() {
        return List.of(after, asynchronous, stream, timeout);
    }

    @Override
    public boolean equals(Object other) {
        return this == other || (other instanceof OpOptions o && values().equals(o.values()));
    }

    @Override
    public int hashCode() {
        return values().hashCode();
    }

    @Override
    public String toString() {
        return "OpOptions[after=" + after + ", asynchronous=" + asynchronous + ", stream=0x" + Long.toHexString(stream)
                + ", timeout=" + timeout.map(Duration::toString).orElse("ep.timeout") + "]";
    }
}
