package org.ep4j.engine.sync;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;

/** The receiving half of a low-latency operation. With the receive hook the caller starts it, once. */
public final class ReceiveHook {
    private final CompletableFuture<Void> done = new CompletableFuture<>();
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

    public EpEvent event() {
        return EpEvent.of(done);
    }

    /** Refuses to read results before {@code receive()}; throws what the receiving half failed with. */
    public void requireDone(String kind) {
        if (!requested) {
            return;
        }
        if (!done.isDone()) {
            throw new EpStateException("the " + kind + " has not been received; call receive() first");
        }
        event().await(Duration.ofSeconds(1));
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

    public void run(Runnable receive) {
        try {
            receive.run();
            done.complete(null);
        } catch (RuntimeException | Error e) {
            done.completeExceptionally(e);
            throw e;
        }
    }
}
