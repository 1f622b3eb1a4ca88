package org.ep4j.engine.gpu;

import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.EpEvent;
import org.ep4j.RowLayout;
import org.ep4j.engine.sync.Waits;

/** Routing of a high-throughput dispatch. */
final class HighThroughputHandle extends PooledHandle<HighThroughput> implements DispatchHandle {
    private final RowLayout layout;
    private final int alignment;
    private final DataType idType;
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
            DataType idType,
            EpEvent known) {
        super(owner, owner.handles(), memory, tokens);
        this.layout = layout;
        this.alignment = alignment;
        this.idType = idType;
        this.known = known;
    }

    int alignment() {
        return alignment;
    }

    DataType idType() {
        return idType;
    }

    boolean byExpert() {
        return layout == RowLayout.BY_EXPERT;
    }

    /** A word of the counts, which are there when the dispatch has ended. */
    long count(int index) {
        return owner().handles().count(routing(), index);
    }

    /** Waits for the counts. */
    @Override
    public long rows() {
        known.await(Waits.LONGEST);
        return count(1);
    }

    @Override
    public RowLayout layout() {
        return layout;
    }
}
