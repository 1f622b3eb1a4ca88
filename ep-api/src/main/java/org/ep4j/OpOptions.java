package org.ep4j;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * How the operations of a buffer run, see {@link EpBuffer#withOptions}: which stream they are queued on, whether a call
 * waits for its operation, for how long, and how much of a GPU it uses. Immutable: what sets an option returns a changed
 * copy.
 */
public sealed interface OpOptions {
    /** Options of operations that wait for no event and return when they are done: stream 0, default timeout. */
    // Values are created in this interface alone, so it is always initialised before their class.
    @SuppressWarnings("ClassInitializationDeadlock")
    OpOptions DEFAULT = new OpOptionsValue(List.of(), false, 0, Optional.empty(), OptionalInt.empty());

    /**
     * Returns a copy for operations on a native stream.
     *
     * @param handle {@code CUstream} or {@code hipStream_t}; 0, 1 and 2 are valid streams of CUDA. On the host only 0
     */
    default OpOptions onStream(long handle) {
        return new OpOptionsValue(after(), isAsynchronous(), handle, timeout(), multiprocessors());
    }

    /** Returns a copy for calls that return at once; the result's event completes when its contents may be read. */
    default OpOptions asynchronous() {
        return new OpOptionsValue(after(), true, stream(), timeout(), multiprocessors());
    }

    /** Returns a copy for calls that return when the operation is done. */
    default OpOptions synchronous() {
        return new OpOptionsValue(after(), false, stream(), timeout(), multiprocessors());
    }

    /** Returns a copy for operations that also wait for {@code event} before they read their inputs. */
    default OpOptions after(EpEvent event) {
        List<EpEvent> events = new ArrayList<>(after());
        events.add(event);
        return new OpOptionsValue(List.copyOf(events), isAsynchronous(), stream(), timeout(), multiprocessors());
    }

    /**
     * Returns a copy for operations with this timeout instead of {@code ep.timeout}.
     *
     * @param timeout longest wait for other ranks
     * @throws EpArgumentException when it is not above zero
     */
    default OpOptions timeout(Duration timeout) {
        if (timeout.isZero() || timeout.isNegative()) {
            throw new EpArgumentException("timeout", timeout, "above zero", "pass a positive duration");
        }
        return new OpOptionsValue(after(), isAsynchronous(), stream(), Optional.of(timeout), multiprocessors());
    }

    /**
     * Returns a copy for operations whose kernels use this many multiprocessors (SMs, compute units) of a GPU, instead of
     * the buffer's number ({@link BufferSize#highThroughputSms}, {@link BufferSize#lowLatencySms}). Ranks may differ in it,
     * and so may a dispatch and its combine; both halves of an operation with the receive hook use it, and a graph keeps
     * it. It is not reduced for other buffers on the GPU: numbers of operations that run at the same time must together
     * leave room for all of their kernels, or ranks may wait for each other until the timeout. Ignored on the host.
     *
     * @param number from 1 to all multiprocessors of the GPU; a higher one is refused by the operation
     * @throws EpArgumentException when it is below 1
     */
    default OpOptions multiprocessors(int number) {
        if (number < 1) {
            throw new EpArgumentException(
                    "multiprocessors",
                    number,
                    "at least 1",
                    "pass a positive number, or leave multiprocessors() out for the buffer's own");
        }
        return new OpOptionsValue(after(), isAsynchronous(), stream(), timeout(), OptionalInt.of(number));
    }

    /** Native stream that GPU operations are queued on. */
    long stream();

    /** Returns true if calls return at once. */
    boolean isAsynchronous();

    /** Events that operations wait for before they read their inputs. */
    List<EpEvent> after();

    /** Longest wait; empty for the setting {@code ep.timeout}. */
    Optional<Duration> timeout();

    /** Multiprocessors of a GPU that the kernels of an operation use; empty for the buffer's number. */
    OptionalInt multiprocessors();
}

record OpOptionsValue(
        List<EpEvent> after,
        boolean isAsynchronous,
        long stream,
        Optional<Duration> timeout,
        OptionalInt multiprocessors)
        implements OpOptions {
    @Override
    public String toString() {
        return "OpOptions[after=" + after + ", asynchronous=" + isAsynchronous + ", stream=0x"
                + Long.toHexString(stream) + ", timeout="
                + timeout.map(Duration::toString).orElse("ep.timeout") + ", multiprocessors="
                + (multiprocessors.isPresent() ? Integer.toString(multiprocessors.getAsInt()) : "of the buffer") + "]";
    }
}
