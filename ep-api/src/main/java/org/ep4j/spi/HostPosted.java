package org.ep4j.spi;

import org.ep4j.EpTimeoutException;

/**
 * Capability of a {@link SymmetricBuffer}: host threads write to peers through a NIC by counted writes, that is puts
 * followed by a signal. After any number of {@link #put puts} to a peer, one {@link #signal signal} advances a
 * counter there; a thread that sees the {@link #counter counter} advanced on the peer sees the bytes of all puts that
 * were posted to it before. Over how many ports and queue pairs they travel, in which order they arrive and how
 * arrival is counted is the backend's own affair.
 *
 * <p>Every counter has one writer, its source rank, and only grows. All methods are safe for use from several threads:
 * calls for one peer are carried out one after the other; those for different peers may overlap, or a backend carries
 * them out one after the other too. Progress is made inside of these calls and by threads of the backend, so that a
 * rank that is in none of them still receives.
 *
 * <p>{@link #put}, {@link #putMessage} and {@link #signal} wait at most {@code ep.timeout} for room, then throw
 * {@link EpTimeoutException}. All calls throw {@link org.ep4j.EpPeerLostException} when the peer cannot be reached
 * any more by any port, with peer, port, NIC, status and vendor error in the message; {@link
 * org.ep4j.EpStateException} after {@link SymmetricBuffer#close}; {@link IllegalArgumentException} when the rank is
 * not one that the backend connects, or an address lies outside of its range.
 */
public interface HostPosted {
    /** Counters that a buffer has for each source rank, numbered from 0; all are 0 at first. */
    int COUNTERS = 64;

    /**
     * Posts a write of {@code bytes} bytes from {@code sourceOffset} in {@link SymmetricBuffer#local()} to {@code targetOffset}
     * in the peer's memory. The source must stay as it is until {@link #flush}. Waits at most {@code ep.timeout}
     * where the queue is full.
     *
     * @param targetOffset from the start of the peer's memory
     * @param sourceOffset from the start of this rank's memory
     * @param bytes any number, 0 included
     */
    void put(int peer, long targetOffset, long sourceOffset, long bytes);

    /**
     * Posts a low-latency write or a write of control data; {@link #put} is for high throughput. Limits of writes in
     * flight, see {@code org.ep4j.plan.offer.FlowLimits}, count the two apart. In all else they are alike, and a
     * {@link #signal} ends both. The default calls {@link #put}, for backends without limits.
     */
    default void putMessage(int peer, long targetOffset, long sourceOffset, long bytes) {
        put(peer, targetOffset, sourceOffset, bytes);
    }

    /**
     * Ends a counted write: posts {@code value} to this rank's counter {@code counter} on {@code peer}, where it
     * becomes visible after everything that was posted to {@code peer} before. None of it needs another
     * call to arrive: threads of the backend send what the transport has not taken yet, and {@link #flush} waits for it.
     *
     * @param counter below {@link #COUNTERS}
     * @param value a value that is not above the last one is left out: GPU kernels that overlap may signal in another
     *     order than they read what they signal
     */
    void signal(int peer, int counter, long value);

    /**
     * Reads, with acquire order, the value to which rank {@code source} has advanced one of its counters on this rank.
     *
     * @throws org.ep4j.EpPeerLostException where the backend has lost the source, and nothing new has come from it
     */
    long counter(int counter, int source);

    /**
     * Waits until all puts to {@code peer} are complete; after that, their source memory may be reused, and closing this
     * rank's buffer loses none of them. An interrupt need not end the wait; the thread stays interrupted then.
     *
     * @param deadlineNanos value of {@link System#nanoTime} at which the wait ends
     * @throws EpTimeoutException at the deadline
     */
    void flush(int peer, long deadlineNanos);

    /**
     * Returns true if no buffer of the backend has anything in flight to {@code peer}, and the queue has room for a
     * small put and a signal. Later posts then arrive after all earlier ones. Waits for a moment at most (less
     * than a millisecond), and not for other threads that use the connection: then false. The default is for backends
     * whose flush covers all buffers of the peer.
     */
    default boolean isIdle(int peer) {
        try {
            flush(peer, System.nanoTime());
            return true;
        } catch (EpTimeoutException e) {
            return false;
        }
    }

    /**
     * Sets a check that {@link #put}, {@link #signal} and {@link #flush} of this buffer run every few milliseconds while they wait. What
     * it throws ends the call. So a rank that the other ranks have left out learns it before the timeout, although
     * its peers take nothing more and the backend does not know the reason. The default does nothing: calls then end
     * at their timeout.
     *
     * @param check safe for use by any thread; it does not call the buffer, and throws {@link org.ep4j.EpPeerLostException} that names this
     *     rank itself
     */
    default void setWaitCheck(Runnable check) {}
}
