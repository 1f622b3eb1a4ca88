package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import org.ep4j.DispatchHandle;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.RowLayout;

/** Routing of a high-throughput dispatch; it lies in device memory. By identity. */
final class HighThroughputHandle implements DispatchHandle {
    private final HighThroughput owner;
    private final HandlePool.HandleMemory memory;
    private final int tokens;
    private final RowLayout layout;
    private final int alignment;
    private final boolean wideIds;
    private final EpEvent known;
    private final Cleaner.Cleanable release;
    private volatile boolean closed;

    /**
     * A handle that a dispatch fills.
     *
     * @param known when the counts are there
     */
    HighThroughputHandle(
            HighThroughput owner,
            HandlePool.HandleMemory memory,
            int tokens,
            RowLayout layout,
            int alignment,
            boolean wideIds,
            EpEvent known) {
        this.owner = owner;
        this.memory = memory;
        this.tokens = tokens;
        this.layout = layout;
        this.alignment = alignment;
        this.wideIds = wideIds;
        this.known = known;
        this.release = owner.handles().bind(this, memory);
    }

    HighThroughput owner() {
        return owner;
    }

    HandlePool.HandleMemory memory() {
        return memory;
    }

    int alignment() {
        return alignment;
    }

    boolean wideIds() {
        return wideIds;
    }

    EpEvent known() {
        return known;
    }

    boolean byExpert() {
        return layout == RowLayout.BY_EXPERT;
    }

    @Override
    public int tokens() {
        return tokens;
    }

    /** A word of the counts, which are there when {@link #known} has come. */
    long count(int index) {
        return owner.handles().count(memory, index);
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

    /** Waits for the counts. */
    @Override
    public long rows() {
        known.await(owner.state().waits().longest());
        return count(1);
    }

    @Override
    public RowLayout layout() {
        return layout;
    }
}
