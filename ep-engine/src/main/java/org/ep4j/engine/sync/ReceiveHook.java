package org.ep4j.engine.sync;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.transport.Deadline;

/** The receiving half of a low-latency operation. With the receive hook the caller starts it, once. */
public final class ReceiveHook {
    /** End of the receiving half, once {@code receive()} has queued it; else what {@code receive()} failed with. */
    private final CompletableFuture<EpEvent> queued = new CompletableFuture<>();

    private final boolean requested;
    private boolean taken;

    /** Creates it; {@code requested} if the caller asked for the hook. */
    public ReceiveHook(boolean requested) {
        this.requested = requested;
    }

    /** Returns whether the caller starts the receiving half. */
    public boolean isRequested() {
        return requested;
    }

    /** The refusal of {@code receive()} where nothing is left to receive. */
    public static EpStateException notRequested() {
        return new EpStateException(
                "receive() is only for operations with the receive hook; an operation without it has already received its data");
    }

    /**
     * End of the receiving half. Once it is queued, this is the event of its operation, which other streams can wait for; before that, one
     * that also waits for {@code receive()}.
     */
    public EpEvent event() {
        return isQueued() ? queued.join() : new Unreceived();
    }

    private boolean isQueued() {
        return queued.isDone() && !queued.isCompletedExceptionally();
    }

    /** Refuses to read results before {@code receive()}; throws what that failed with. */
    public void requireCalled(String kind) {
        if (!requested) {
            return;
        }
        if (!queued.isDone()) {
            throw new EpStateException("the " + kind + " has not been received; call receive() first");
        }
        EpEvent.of(queued).await(Duration.ofSeconds(1));
    }

    /** Claims the receiving half for {@code receive()}. */
    public synchronized void take() {
        if (!requested) {
            throw notRequested();
        }
        if (taken) {
            throw new EpStateException("receive() was called before; call it only once");
        }
        taken = true;
    }

    /**
     * Runs or queues the receiving half. If that fails before it has begun, {@code receive()} may be called again.
     *
     * @param receive returns its end
     * @param isPending returns whether it has not begun
     */
    public void run(Supplier<EpEvent> receive, BooleanSupplier isPending) {
        try {
            queued.complete(receive.get());
        } catch (RuntimeException | Error e) {
            if (isPending.getAsBoolean()) {
                giveBack();
            } else {
                queued.completeExceptionally(e);
            }
            throw e;
        }
    }

    private synchronized void giveBack() {
        taken = false;
    }

    /** End of an operation whose receiving half was not queued when the caller asked for it. */
    private final class Unreceived implements EpEvent {
        @Override
        public boolean isDone() {
            return isQueued() ? queued.join().isDone() : queued.isDone();
        }

        @Override
        public void await(Duration timeout) {
            Deadline deadline = Deadline.in(timeout);
            EpEvent.of(queued).await(timeout);
            queued.join().await(deadline.left());
        }

        @Override
        public long nativeHandle() {
            return isQueued() ? queued.join().nativeHandle() : 0;
        }
    }
}
