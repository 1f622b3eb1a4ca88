package org.ep4j.engine.host;

import org.ep4j.DispatchHandle;
import org.ep4j.RowLayout;

final class HighThroughputHandle extends RecyclableHandle<HighThroughputRouting> implements DispatchHandle {
    private final HighThroughput owner;
    private final long number;
    private final int tokens;
    private final RowLayout layout;
    private final long rows;
    private final int alignment;

    /**
     * Creates the handle of a dispatch whose rows have arrived.
     *
     * @param owner the buffer's high-throughput mode, by identity
     * @param number of the dispatch; equal on all ranks
     * @param layout row order that the caller sees
     * @param alignment of expert groups
     */
    HighThroughputHandle(
            HighThroughput owner, long number, HighThroughputRouting routing, RowLayout layout, int alignment) {
        super(routing, owner.routings());
        this.owner = owner;
        this.number = number;
        this.layout = layout;
        this.alignment = alignment;
        tokens = routing.sent().tokens();
        long[] offsets = routing.expertOffsets();
        rows = byExpert() ? offsets[offsets.length - 1] : routing.received();
    }

    HighThroughput owner() {
        return owner;
    }

    long number() {
        return number;
    }

    int alignment() {
        return alignment;
    }

    boolean byExpert() {
        return layout == RowLayout.BY_EXPERT;
    }

    @Override
    public int tokens() {
        return tokens;
    }

    @Override
    public long rows() {
        return rows;
    }

    @Override
    public RowLayout layout() {
        return layout;
    }
}
