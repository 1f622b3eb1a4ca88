package org.ep4j.engine.gpu;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.HostPosted;

/**
 * Lets several threads post to a peer: proxy threads for kernels, and the thread that sets up and recovers. Kernels that
 * overlap may tell a counter in another order than they read it; a value that is not above the last one is left out.
 */
final class SharedPosted implements HostPosted {
    private final HostPosted posted;
    private final ReentrantLock[] locks;
    private final long[][] told;

    SharedPosted(HostPosted posted, int ranks) {
        this.posted = posted;
        this.locks = new ReentrantLock[ranks];
        this.told = new long[ranks][COUNTERS];
        for (int r = 0; r < ranks; r++) {
            locks[r] = new ReentrantLock();
        }
    }

    @Override
    public void write(int peer, long target, long source, long bytes) {
        locks[peer].lock();
        try {
            posted.write(peer, target, source, bytes);
        } finally {
            locks[peer].unlock();
        }
    }

    @Override
    public void writeMessage(int peer, long target, long source, long bytes) {
        locks[peer].lock();
        try {
            posted.writeMessage(peer, target, source, bytes);
        } finally {
            locks[peer].unlock();
        }
    }

    @Override
    public void advance(int peer, int counter, long value) {
        locks[peer].lock();
        try {
            if (value > told[peer][counter]) {
                posted.advance(peer, counter, value);
                told[peer][counter] = value;
            }
        } finally {
            locks[peer].unlock();
        }
    }

    @Override
    public void checkWhileWaiting(Runnable check) {
        posted.checkWhileWaiting(check);
    }

    @Override
    public long seen(int counter, int source) {
        return posted.seen(counter, source);
    }

    /** Whoever holds the peer may wait inside of the backend until a later deadline than this one. */
    @Override
    public void drain(int peer, Duration deadline) {
        Duration left = locks[peer].tryLock() ? deadline : lock(peer, deadline);
        try {
            posted.drain(peer, left);
        } finally {
            locks[peer].unlock();
        }
    }

    private Duration lock(int peer, Duration deadline) {
        long start = System.nanoTime();
        try {
            if (locks[peer].tryLock(deadline.toNanos(), TimeUnit.NANOSECONDS)) {
                return Duration.ofNanos(Math.max(1, deadline.toNanos() - (System.nanoTime() - start)));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpStateException("interrupted while waiting for writes posted to rank " + peer);
        }
        throw new EpTimeoutException(
                "a thread has been inside a call that posts to rank " + peer + " for " + deadline.toMillis()
                        + " ms; check whether that rank accepts data, and what threads named ep4j-proxy do (jstack)",
                "drain",
                peer,
                0,
                1);
    }
}
