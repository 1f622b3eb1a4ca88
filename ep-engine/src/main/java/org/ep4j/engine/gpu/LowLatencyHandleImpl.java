package org.ep4j.engine.gpu;

import org.ep4j.EpStateException;
import org.ep4j.LowLatencyHandle;

/** Routing of a low-latency dispatch. */
final class LowLatencyHandleImpl extends PooledHandle<LowLatency> implements LowLatencyHandle {
    private final boolean weighted;
    private volatile boolean received;

    LowLatencyHandleImpl(LowLatency owner, HandlePool.HandleMemory memory, int tokens, boolean weighted) {
        super(owner, owner.handles(), memory, tokens);
        this.weighted = weighted;
    }

    boolean weighted() {
        return weighted;
    }

    /** The receiving half of the dispatch is queued. */
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
