package org.ep4j.engine.proxy;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** What the threads of one {@link ProxyThreads} are told, and what they tell. */
final class ProxyState implements FailureListener {
    private static final System.Logger LOGGER = System.getLogger(ProxyThreads.class.getName());

    /** True while operations are in flight: nobody sleeps. */
    volatile boolean awake;

    volatile boolean stop;

    /** Counted down by every thread that has begun its rings anew; another one for each time. */
    volatile @Nullable CountDownLatch restart;

    private final FailureListener listener;
    private final AtomicReference<@Nullable Throwable> first = new AtomicReference<>();
    private final AtomicBoolean listenerFailed = new AtomicBoolean();

    ProxyState(FailureListener listener) {
        this.listener = listener;
    }

    @Nullable
    Throwable firstFailure() {
        return first.get();
    }

    @Override
    public void failed(int ring, int peer, Throwable failure) {
        first.compareAndSet(null, failure);
        try {
            listener.failed(ring, peer, failure);
        } catch (Throwable e) {
            // The ring must be drained whatever happens; said once, since every command may fail.
            if (listenerFailed.compareAndSet(false, true)) {
                LOGGER.log(
                        System.Logger.Level.ERROR,
                        "the failure listener of the proxy threads has thrown an exception",
                        e);
            }
        }
    }
}
