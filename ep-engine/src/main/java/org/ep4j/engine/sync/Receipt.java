package org.ep4j.engine.sync;

import java.util.concurrent.CompletableFuture;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;

/** The receiving half of a low-latency operation that was asked for with the hook: it runs once, when it is called. */
public final class Receipt {
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private final boolean hook;
    private boolean taken;

    public Receipt(boolean hook) {
        this.hook = hook;
    }

    /** True when the receiving half is the caller's to start. */
    public boolean isHook() {
        return hook;
    }

    /** The refusal of {@code receive()} where nothing is left to receive. */
    public static EpStateException noHook() {
        return new EpStateException(
                "receive() is only for operations with the receive hook; an operation without it has already received its data");
    }

    public EpEvent event() {
        return EpEvent.of(done);
    }

    /** True when the receiving half has ended well. */
    public void requireDone(String kind) {
        if (!done.isDone()) {
            throw new EpStateException("the " + kind + " has not been received; call receive() first");
        }
        event().await(java.time.Duration.ofSeconds(1));
    }

    /** Claims the receiving half for {@code receive()}. */
    public synchronized void take() {
        if (!hook) {
            throw noHook();
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
