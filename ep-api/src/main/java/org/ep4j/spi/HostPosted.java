package org.ep4j.spi;

import java.time.Duration;
import org.ep4j.EpTimeoutException;

/**
 * Capability of a {@link SymmetricBuffer}: host threads of this rank write into the memory of peers by posting to a NIC. The
 * one thing it does is the counted write: any number of {@link #write writes} to a peer, then one {@link #advance advance}
 * of a counter there; whoever {@link #seen sees} the counter advanced on the peer sees the bytes of all writes that were
 * posted to it before. Over how many ports and queue pairs they travel, in which order they arrive and how arrival is
 * counted is the backend's own affair.
 *
 * <p>Every counter has one writer, its source rank, and only grows. Calls that concern one peer come from one thread at a
 * time; calls for different peers may overlap, and {@link #seen} may be called from any thread at any time. Progress is
 * made inside of these calls and by threads of the backend, so that a rank that is in none of them still receives.
 *
 * <p>All calls throw {@link org.ep4j.EpPeerLostException} when the peer cannot be reached any more by any port, with peer,
 * port, NIC, status and vendor error in the message; {@link org.ep4j.EpStateException} after {@link SymmetricBuffer#close};
 * {@link IllegalArgumentException} when the rank is not one that the backend connects, or an address lies outside of its
 * range.
 */
public interface HostPosted {
    /** Counters that a buffer has for each source rank, numbered from 0; all are 0 at first. */
    int COUNTERS = 64;

    /**
     * Posts a write of {@code bytes} bytes from {@code source} in {@link SymmetricBuffer#local()} to {@code target} in the
     * peer's memory. The source must stay as it is until {@link #drain}. Waits where the queue is full, until the deadline
     * of the buffer's settings.
     *
     * @param target offset from the start of the peer's memory
     * @param source offset from the start of this rank's memory
     * @param bytes any number, 0 included
     */
    void write(int peer, long target, long source, long bytes);

    /**
     * Posts a low-latency write or a write of control data; {@link #write} is for high throughput. Limits of writes in
     * flight, see {@link org.ep4j.plan.offer.FlowLimits}, count the two apart. In all else they are alike, and an
     * {@link #advance} ends both. The default calls {@link #write}, for backends without limits.
     */
    default void writeMessage(int peer, long target, long source, long bytes) {
        write(peer, target, source, bytes);
    }

    /**
     * Ends a counted write: posts {@code value} to this rank's counter {@code counter} on {@code peer}, where it
     * becomes visible after everything that was posted to {@code peer} before. Nothing that was posted stays behind in
     * this rank when the call returns.
     *
     * @param counter below {@link #COUNTERS}
     * @param value not below the last one
     */
    void advance(int peer, int counter, long value);

    /**
     * Reads, with acquire order, the value to which rank {@code source} has advanced one of its counters on this rank.
     *
     * @throws org.ep4j.EpPeerLostException where the backend has lost the source, and nothing new has come from it
     */
    long seen(int counter, int source);

    /**
     * Waits until all writes posted to {@code peer} are complete; after that, their source memory may be reused, and
     * closing this rank's buffer loses none of them.
     *
     * @throws EpTimeoutException at the deadline
     */
    void drain(int peer, Duration deadline);

    /**
     * Returns true if no buffer of the backend has anything in flight to {@code peer}, and the queue has room for a
     * small write and an advance. Later posts then arrive after all earlier ones. Waits for a moment at most (less
     * than a millisecond), and not for other threads that use the connection: then false.
     */
    default boolean isIdle(int peer) {
        try {
            drain(peer, Duration.ZERO);
            return true;
        } catch (EpTimeoutException e) {
            return false;
        }
    }

    /**
     * Sets a check that {@link #write}, {@link #advance} and {@link #drain} of this buffer run every few milliseconds while they wait. What
     * it throws ends the call. So a rank that the other ranks have left out learns it before the deadline, although its peers take
     * nothing more and the backend cannot tell why. The default does nothing: calls then end at their deadline.
     *
     * @param check safe for use by any thread; it does not call the buffer, and throws {@link org.ep4j.EpPeerLostException} that names this
     *     rank itself
     */
    default void checkWhileWaiting(Runnable check) {}
}
