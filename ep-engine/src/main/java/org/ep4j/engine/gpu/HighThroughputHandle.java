package org.ep4j.engine.gpu;

import org.ep4j.DispatchHandle;
import org.ep4j.EpEvent;
import org.ep4j.RowLayout;

/** Routing of a high-throughput dispatch. */
final class HighThroughputHandle extends PooledHandle implements DispatchHandle {
    private final HighThroughput owner;
    private final RowLayout layout;
    private final int alignment;
    private final boolean wideIds;
    private final EpEvent known;

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
        super(owner.handles(), memory, tokens);
        this.owner = owner;
        this.layout = layout;
        this.alignment = alignment;
        this.wideIds = wideIds;
        this.known = known;
    }

    HighThroughput owner() {
        return owner;
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

    /** A word of the counts, which are there when {@link #known} has come. */
    long count(int index) {
        return owner.handles().count(memory(), index);
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
