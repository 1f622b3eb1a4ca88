package org.ep4j.engine.sync;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.OpOptions;
import org.jspecify.annotations.Nullable;

/**
 * The receiving half of a low-latency operation. With the hook it begins once, when the caller says so; without it with the
 * operation. Safe for several threads.
 */
public final class Receipt {
    /** Ends with the event of the receiving half, once that is queued, or with what queueing it failed with. */
    private final CompletableFuture<EpEvent> queued = new CompletableFuture<>();

    private final boolean hook;
    private boolean taken;

    /**
     * The receiving half of one operation.
     *
     * @param hook whether the caller begins it
     */
    public Receipt(boolean hook) {
        this.hook = hook;
    }

    /** True when the receiving half is the caller's to begin. */
    public boolean isHook() {
        return hook;
    }

    /** The end of the receiving half, also when that has not begun. */
    public EpEvent event() {
        EpEvent known = queued.isCompletedExceptionally() ? null : queued.getNow(null);
        return known == null ? new Unbegun() : known;
    }

    /** Refuses results of an operation whose receiving half has not begun, or could not. */
    public void requireBegun(String kind) {
        if (!queued.isDone()) {
            throw new EpStateException("the " + kind + " has not been received; call receive() first");
        }
        if (queued.isCompletedExceptionally()) {
            EpEvent.of(queued).await(Duration.ZERO);
        }
    }

    /**
     * Claims the receiving half for {@code receive()}.
     *
     * @throws EpStateException when there is no hook, or it was claimed before
     */
    public synchronized void take() {
        if (!hook) {
            throw new EpStateException(
                    "receive() goes with the hook option; without it the operation has received already");
        }
        if (taken) {
            throw new EpStateException("receive() was called before; once is enough");
        }
        taken = true;
    }

    /** Options of a receiving half without its own: those of the request, but the events that it began after. */
    public static OpOptions options(OpOptions request) {
        return new OpOptions(
                List.of(), request.async(), request.stream(), request.timeout(), request.multiprocessors());
    }

    /** Begins the receiving half. */
    public interface Begin {
        /** Queues it, or runs it, and gives its end. */
        EpEvent begin();
    }

    /** Runs or queues the receiving half, and keeps what came of it for {@link #event}. */
    public EpEvent begin(Begin receive) {
        try {
            EpEvent end = receive.begin();
            queued.complete(end);
            return end;
        } catch (RuntimeException | Error e) {
            queued.completeExceptionally(e);
            throw e;
        }
    }

    /** The end of a receiving half that had not begun when its event was asked for. */
    private final class Unbegun implements EpEvent {
        @Override
        public boolean isDone() {
            if (queued.isCompletedExceptionally()) {
                return true;
            }
            @Nullable EpEvent end = queued.getNow(null);
            return end != null && end.isDone();
        }

        @Override
        public void await(Duration deadline) {
            long start = System.nanoTime();
            EpEvent.of(queued).await(deadline);
            Duration left = deadline.minusNanos(System.nanoTime() - start);
            queued.join().await(left.isNegative() ? Duration.ZERO : left);
        }
    }
}
