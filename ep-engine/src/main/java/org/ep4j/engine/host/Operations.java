package org.ep4j.engine.host;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEvent;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.OpOptions;
import org.ep4j.engine.sync.Waits;
import org.ep4j.transport.Deadline;
import org.jspecify.annotations.Nullable;

/**
 * Runs the operations of one buffer one after another, in the order of the calls: on the caller's thread, or, when
 * asynchronous, on a thread of the buffer.
 */
final class Operations {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private final String name;
    private final Duration defaultTimeout;
    private final Waits waits;
    private final ReentrantLock running = new ReentrantLock(true);
    private @Nullable ExecutorService executor;
    private CompletableFuture<Void> lastAsync = CompletableFuture.completedFuture(null);
    private boolean closed;

    Operations(String name, Duration defaultTimeout, Waits waits) {
        this.name = name;
        this.defaultTimeout = defaultTimeout;
        this.waits = waits;
    }

    /** Body of an operation, run once its turn has come. */
    interface Body {
        void run(Deadline deadline);
    }

    /** Runs or queues an operation; returns when it is done, unless it is asynchronous. */
    EpEvent submit(OpOptions options, Body body) {
        if (options.stream() != 0) {
            throw new EpArgumentException("stream", options.stream(), "0", "the host has no native streams");
        }
        Duration timeout = options.timeout().orElse(defaultTimeout);
        if (options.isAsynchronous()) {
            return EpEvent.of(queue(options, body, timeout));
        }
        CompletableFuture<Void> before;
        synchronized (this) {
            checkOpen();
            before = lastAsync;
        }
        Deadline deadline = Deadline.in(timeout);
        if (!before.isDone()) {
            awaitQuietly(before, timeout);
        }
        run(options, body, deadline);
        return EpEvent.completed();
    }

    private synchronized CompletableFuture<Void> queue(OpOptions options, Body body, Duration timeout) {
        checkOpen();
        if (executor == null) {
            executor = Executors.newSingleThreadExecutor(work -> {
                Thread thread = new Thread(work, "ep4j-" + name);
                thread.setDaemon(true);
                return thread;
            });
        }
        lastAsync = CompletableFuture.runAsync(() -> run(options, body, Deadline.in(timeout)), executor);
        return lastAsync;
    }

    private void run(OpOptions options, Body body, Deadline deadline) {
        for (EpEvent event : options.after()) {
            event.await(remaining(deadline));
        }
        lock(deadline);
        try {
            synchronized (this) {
                checkOpen();
            }
            waits.until(deadline);
            body.run(deadline);
        } finally {
            running.unlock();
        }
    }

    private void lock(Deadline deadline) {
        try {
            if (running.tryLock() || running.tryLock(remaining(deadline).toNanos(), TimeUnit.NANOSECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpStateException("interrupted while waiting for the operation before this one");
        }
        throw new EpTimeoutException(
                "the operation before this one on " + name + " did not end in "
                        + deadline.whole().toMillis() + " ms; check the thread that runs it, or raise ep.timeout",
                EpFailure.builder("queue", -1).expected(1).build(),
                EpException.Recourse.FIX_CALL);
    }

    private static Duration remaining(Deadline deadline) {
        return Duration.ofNanos(Math.max(1, deadline.nanoTime() - System.nanoTime()));
    }

    private static void awaitQuietly(CompletableFuture<Void> future, Duration timeout) {
        try {
            EpEvent.of(future).await(timeout);
        } catch (EpTimeoutException e) {
            if (!future.isDone()) {
                throw e;
            }
        } catch (RuntimeException e) {
            // That operation's event reports it; this one only has to run after it.
            LOG.log(System.Logger.Level.DEBUG, "an operation failed", e);
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new EpStateException("the buffer is closed; create another one");
        }
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /**
     * Refuses new operations, ends the waits of running ones and waits for these to return.
     *
     * @return false when it was closed before
     */
    boolean close() {
        ExecutorService toStop;
        synchronized (this) {
            if (closed) {
                return false;
            }
            closed = true;
            toStop = executor;
        }
        waits.close();
        if (toStop != null) {
            toStop.shutdown();
        }
        // Running operations see in their waits that it is closed, so this takes no longer than copying and the longest
        // sleep.
        running.lock();
        try {
            LOG.log(System.Logger.Level.TRACE, "no operation runs on {0}", name);
        } finally {
            running.unlock();
        }
        return true;
    }
}
