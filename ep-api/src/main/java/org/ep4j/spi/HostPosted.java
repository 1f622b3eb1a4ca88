package org.ep4j.spi;

import java.time.Duration;

/**
 * Capability of a {@link SymmetricBuffer} whose peers' memory this rank writes by posting to a NIC from host threads. The
 * one thing it does is the counted write: any number of {@link #write writes} to a peer, then one {@link #advance advance}
 * of a counter there; whoever {@link #seen sees} the counter advanced on the peer sees the bytes of all writes that were
 * posted to it before. Over how many ports and queue pairs they travel, in which order they arrive and how arrival is
 * counted is the backend's own affair.
 *
 * <p>Every counter has one writer, its source rank, and only grows. Calls that concern one peer come from one thread at a
 * time; calls for different peers may overlap, and {@link #seen} may be called from any thread at any time. Progress is
 * made inside of these calls and by threads of the backend, so that a rank that is in none of them still receives.
 *
 * <p>No counter advances past a write that failed. Once {@link #write} has thrown for a peer, for any reason but a wrong
 * argument, part of its bytes may be on their way and the rest never will be: from then on {@code write} and {@code advance}
 * of this buffer throw {@link org.ep4j.EpTimeoutException} or {@link org.ep4j.EpPeerLostException} for that peer, until {@link
 * #drain} for it has succeeded. After a failed write only recovery drains, when the ranks have agreed to give up what the
 * write belonged to. An {@code advance} that has thrown may be repeated: it happens once.
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
     * Ends a counted write: after all that was posted to {@code peer} before, sets this rank's counter there to {@code value}.
     * Nothing that was posted stays behind in this rank when the call returns.
     *
     * @param counter below {@link #COUNTERS}
     * @param value not below the last one
     */
    void advance(int peer, int counter, long value);

    /**
     * The value to which {@code source} has advanced a counter on this rank, with acquire order.
     *
     * @throws org.ep4j.EpPeerLostException where the backend has lost the source, and nothing new has come from it
     */
    long seen(int counter, int source);

    /**
     * Waits until the sources of everything that was posted to {@code peer} may be written again, and none of it is lost by
     * closing this rank's buffer. When it returns, writes that failed before are forgotten, and the peer can be written to and
     * its counters advanced again.
     *
     * @throws org.ep4j.EpTimeoutException at the deadline
     */
    void drain(int peer, Duration deadline);

    /**
     * Cuts a peer off that lives but is given up: when this returns, nothing that it has posted or will post lands in this
     * rank's memory any more, by this buffer or another one of the backend, and what was not sent to it is dropped; but see
     * {@link #canDisconnect}. The peer is lost for this rank from then on, and comes to find this rank lost: later calls for
     * it throw {@link org.ep4j.EpPeerLostException}. There is no way back; to reach it again, ranks join a new group. Waits
     * for nobody but calls of other threads for this peer, which end.
     */
    void disconnect(int peer);

    /**
     * True when nothing that a peer posts lands after {@link #disconnect} of it. Where it is false, {@code disconnect} ends
     * only what this rank sends and receives: memory that such a peer could write is not used for anything else before its
     * process is proved dead, or all ranks have closed the buffer.
     */
    default boolean canDisconnect() {
        return true;
    }
}
