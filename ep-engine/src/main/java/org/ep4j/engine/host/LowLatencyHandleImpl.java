package org.ep4j.engine.host;

import org.ep4j.EpStateException;
import org.ep4j.LowLatencyHandle;
import org.ep4j.engine.buffer.EngineHandle;

/** Handle of a low-latency dispatch that has been sent. A later dispatch takes its routing once it is closed and no operation uses it. */
final class LowLatencyHandleImpl extends EngineHandle<LowLatency, LowLatencyRouting> implements LowLatencyHandle {
    /** Number of the dispatch; equal on all ranks. */
    final long number;

    /** Whether the dispatch carries weights. */
    final boolean weighted;

    private volatile boolean received;

    LowLatencyHandleImpl(LowLatency owner, long number, LowLatencyRouting routing, boolean weighted) {
        super(owner, routing, routing.sent.tokens);
        this.number = number;
        this.weighted = weighted;
    }

    @Override
    protected void free() {
        owner().routings.add(routing());
    }

    /** Marks the receiver's side of the routing as complete. */
    void received() {
        received = true;
    }

    void requireReceived() {
        if (!received) {
            throw new EpStateException(
                    "the dispatch of this handle has not been received; call receive() of its result");
        }
    }
}
