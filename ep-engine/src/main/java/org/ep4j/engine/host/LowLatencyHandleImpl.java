package org.ep4j.engine.host;

import org.ep4j.EpStateException;
import org.ep4j.LowLatencyHandle;

/** Handle of a low-latency dispatch that has been sent. */
final class LowLatencyHandleImpl extends RecyclableHandle<LowLatencyRouting> implements LowLatencyHandle {
    private final LowLatency owner;
    private final long number;
    private final int tokens;
    private final boolean weighted;
    private volatile boolean received;

    /**
     * Creates the handle of a dispatch that will be received.
     *
     * @param owner the buffer's low-latency mode, by identity
     * @param number of the dispatch; equal on all ranks
     * @param weighted true if the dispatch carries weights
     */
    LowLatencyHandleImpl(LowLatency owner, long number, LowLatencyRouting routing, boolean weighted) {
        super(routing, owner.routings());
        this.owner = owner;
        this.number = number;
        this.weighted = weighted;
        tokens = routing.sent().tokens();
    }

    LowLatency owner() {
        return owner;
    }

    long number() {
        return number;
    }

    boolean weighted() {
        return weighted;
    }

    /** Says that the receiver's side of the routing is there. */
    void received() {
        received = true;
    }

    void requireReceived() {
        if (!received) {
            throw new EpStateException(
                    "the dispatch of this handle has not been received; call receive() of its result");
        }
    }

    @Override
    public int tokens() {
        return tokens;
    }
}
