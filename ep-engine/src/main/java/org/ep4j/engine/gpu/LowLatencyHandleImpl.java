package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyHandle;

/** Routing of a low-latency dispatch; it lies in device memory. By identity. */
final class LowLatencyHandleImpl implements LowLatencyHandle {
    private final LowLatency owner;
    private final HandlePool.HandleMemory memory;
    private final int tokens;
    private final boolean weighted;
    private final Cleaner.Cleanable release;
    private volatile boolean received;
    private volatile boolean closed;

    LowLatencyHandleImpl(LowLatency owner, HandlePool.HandleMemory memory, int tokens, boolean weighted) {
        this.owner = owner;
        this.memory = memory;
        this.tokens = tokens;
        this.weighted = weighted;
        this.release = owner.handles().bind(this, memory);
    }

    LowLatency owner() {
        return owner;
    }

    HandlePool.HandleMemory memory() {
        return memory;
    }

    boolean weighted() {
        return weighted;
    }

    /** The receiving half of the dispatch is queued. */
    void received() {
        received = true;
    }

    @Override
    public void close() {
        closed = true;
        release.clean();
    }

    /** Before kernels that are given its address: it is checked again, since it may have been closed meanwhile. */
    void usedBy(Queue queue) {
        requireOpen();
        if (queue.isCapturing()) {
            owner.handles().keep(memory);
        }
    }

    void requireOpen() {
        if (closed) {
            throw new EpStateException("the handle is closed; close it after the last operation that uses it");
        }
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
