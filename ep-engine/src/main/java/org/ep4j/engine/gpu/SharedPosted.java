package org.ep4j.engine.gpu;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.UnaryOperator;
import org.ep4j.EpFailure;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.Deadline;

/**
 * Lets several threads post to a peer: proxy threads for kernels, and the thread that sets up and recovers. Kernels that
 * overlap may tell a counter in another order than they read it; a value that is not above the last one is left out.
 */
final class SharedPosted implements HostPosted {
    private final HostPosted posted;
    private final ReentrantLock[] locks;
    private final long[][] told;
    private final UnaryOperator<EpFailure> known;

    /**
     * Shares what posts to the ranks of a group.
     *
     * @param known adds what is known of a rank to a failure
     */
    SharedPosted(HostPosted posted, int ranks, UnaryOperator<EpFailure> known) {
        this.posted = posted;
        this.known = known;
        this.locks = new ReentrantLock[ranks];
        this.told = new long[ranks][COUNTERS];
        for (int r = 0; r < ranks; r++) {
            locks[r] = new ReentrantLock();
        }
    }

    @Override
    public void put(int peer, long targetOffset, long sourceOffset, long bytes) {
        locks[peer].lock();
        try {
            posted.put(peer, targetOffset, sourceOffset, bytes);
        } finally {
            locks[peer].unlock();
        }
    }

    @Override
    public void putMessage(int peer, long targetOffset, long sourceOffset, long bytes) {
        locks[peer].lock();
        try {
            posted.putMessage(peer, targetOffset, sourceOffset, bytes);
        } finally {
            locks[peer].unlock();
        }
    }

    @Override
    public void signal(int peer, int counter, long value) {
        locks[peer].lock();
        try {
            if (value > told[peer][counter]) {
                posted.signal(peer, counter, value);
                told[peer][counter] = value;
            }
        } finally {
            locks[peer].unlock();
        }
    }

    @Override
    public void setWaitCheck(Runnable check) {
        posted.setWaitCheck(check);
    }

    @Override
    public long counter(int counter, int source) {
        return posted.counter(counter, source);
    }

    /** Whoever holds the peer may wait inside of the backend until a later deadline than this one. */
    @Override
    public void flush(int peer, long deadlineNanos) {
        if (!locks[peer].tryLock()) {
            lock(peer, Deadline.at(deadlineNanos));
        }
        try {
            posted.flush(peer, deadlineNanos);
        } finally {
            locks[peer].unlock();
        }
    }

    private void lock(int peer, Deadline deadline) {
        try {
            if (locks[peer].tryLock(deadline.nanoTime() - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpStateException("interrupted while waiting for writes posted to rank " + peer);
        }
        throw new EpTimeoutException(
                "a thread has been inside a call that posts to rank " + peer + " for "
                        + deadline.whole().toMillis()
                        + " ms; check whether that rank accepts data, and what threads named ep4j-proxy do (jstack)",
                known.apply(EpFailure.builder("drain", peer).seen(1).build()));
    }
}
