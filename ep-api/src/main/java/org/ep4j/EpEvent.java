package org.ep4j;

import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Completion of asynchronous work: it happens once, with success or a failure. Safe for use from several threads.
 */
public interface EpEvent {
    /** Returns true if the event has completed, successfully or by failure. Does not block. */
    boolean isDone();

    /**
     * Blocks the calling thread until the event has completed. A timeout does not stop the work; await again.
     *
     * @param timeout longest wait
     * @throws EpTimeoutException when {@code timeout} ends first
     * @throws EpException what the work behind the event failed with; on the host also when the thread is
     *     interrupted, and the interrupt flag stays set
     */
    void await(Duration timeout);

    /** Native event handle of the device ({@code CUevent}, {@code hipEvent_t}), or 0 where there is none. */
    default long nativeHandle() {
        return 0;
    }

    /** An event that has already completed. */
    static EpEvent completed() {
        return of(CompletableFuture.completedFuture(null));
    }

    /** Returns an event that completes with {@code future}, for example when another thread has computed an expert. */
    static EpEvent of(CompletableFuture<?> future) {
        return new EpEvent() {
            @Override
            public boolean isDone() {
                return future.isDone();
            }

            @Override
            public void await(Duration timeout) {
                try {
                    future.get(nanos(timeout), TimeUnit.NANOSECONDS);
                } catch (TimeoutException e) {
                    throw new EpTimeoutException(
                            "event not done after " + timeout
                                    + "; pass a longer deadline or check the work that completes it",
                            EpFailure.builder("event", -1).expected(1).build(),
                            EpException.Recourse.FIX_CALL);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new EpException("interrupted while waiting for an event", e);
                } catch (CancellationException e) {
                    throw new EpException("the work behind an event was cancelled", e);
                } catch (ExecutionException | CompletionException e) {
                    Throwable cause = e.getCause();
                    if (cause instanceof EpException ep) {
                        throw ep;
                    }
                    throw new EpException("the work behind an event failed: " + cause, cause);
                }
            }

            private static long nanos(Duration timeout) {
                try {
                    return timeout.toNanos();
                } catch (ArithmeticException e) {
                    // Beyond 292 years.
                    return timeout.isNegative() ? 0 : Long.MAX_VALUE;
                }
            }
        };
    }
}
