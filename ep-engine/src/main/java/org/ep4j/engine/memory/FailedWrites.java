package org.ep4j.engine.memory;

import java.util.concurrent.atomic.AtomicReferenceArray;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Peers for which a write of one buffer has failed: nothing more is posted to them before they have been drained, so that no
 * counter advances past the write that is missing. For one thread at a time for each peer.
 */
public final class FailedWrites {
    private final AtomicReferenceArray<@Nullable Throwable> first;
    private final String buffer;

    /**
     * None yet.
     *
     * @param ranks numbers of peers are below it
     * @param buffer its name for messages
     */
    public FailedWrites(int ranks, String buffer) {
        this.first = new AtomicReferenceArray<>(ranks);
        this.buffer = buffer;
    }

    /**
     * Refuses to post to a peer for which a write has failed.
     *
     * @throws EpPeerLostException when the first write failed because a rank was lost, with that failure as its cause
     * @throws EpTimeoutException naming the peer, with any other first failure as its cause
     */
    public void check(int peer) {
        Throwable failure = first.getPlain(peer);
        if (failure != null) {
            throw refusal(peer, failure);
        }
    }

    private EpException refusal(int peer, Throwable failure) {
        String why = failure.getMessage() == null ? failure.toString() : failure.getMessage();
        EpException refusal;
        if (failure instanceof EpPeerLostException lost) {
            refusal = new EpPeerLostException(message(peer, why), lost.peer(), lost.phase(), lost.failedPath());
        } else if (failure instanceof EpTimeoutException late) {
            refusal = new EpTimeoutException(
                    message(peer, why), late.phase(), peer, late.expected(), late.seen(), late.failedPath());
        } else {
            refusal = new EpTimeoutException(message(peer, why), "write", peer, 1, 0);
        }
        refusal.initCause(failure);
        return refusal;
    }

    private String message(int peer, String why) {
        return buffer + " posts nothing more to rank " + peer + " since a write to it failed: " + why
                + "; recover the group, which drains what is under way";
    }

    /** Notes that a write to a peer has failed, with what was thrown. */
    public void failed(int peer, Throwable failure) {
        first.compareAndSet(peer, null, failure);
    }

    /** Forgets the failure, after the peer has been drained. */
    public void drained(int peer) {
        if (first.getPlain(peer) != null) {
            first.set(peer, null);
        }
    }
}
