package org.ep4j.engine.host;

import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.RowLayout;
import org.ep4j.engine.buffer.EngineHandle;

/** Handle of a dispatch whose rows have arrived. A later dispatch takes its routing once it is closed and no operation uses it. */
final class HighThroughputHandle extends EngineHandle<HighThroughput, HighThroughputRouting> implements DispatchHandle {
    /** Number of the dispatch; equal on all ranks. */
    final long number;

    final DataType idType;
    final int alignment;
    private final RowLayout layout;
    private final long rows;

    HighThroughputHandle(
            HighThroughput owner, long number, HighThroughputRouting routing, RowLayout layout, int alignment) {
        super(owner, routing, routing.sent.tokens);
        this.number = number;
        this.layout = layout;
        this.alignment = alignment;
        idType = routing.sent.idType;
        long[] offsets = routing.expertOffsets;
        rows = byExpert() ? offsets[offsets.length - 1] : routing.received;
    }

    @Override
    protected void free() {
        owner().routings.add(routing());
    }

    boolean byExpert() {
        return layout == RowLayout.BY_EXPERT;
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
