package org.ep4j.engine.buffer;

import java.util.Set;
import org.ep4j.BufferSize;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.ExpertPlacement;
import org.ep4j.engine.sync.Waits;

/** What a buffer is and refuses on every device; how its operations run is up to the engine. */
public abstract class EngineBuffer implements EpBuffer {
    private final EpGroup group;
    private final String name;
    private final EpShape shape;
    private final ExpertPlacement placement;
    private final BufferSize size;
    private final Waits waits;

    /**
     * For one engine.
     *
     * @param name for messages
     * @param waits know which ranks are masked
     */
    protected EngineBuffer(
            EpGroup group, String name, EpShape shape, ExpertPlacement placement, BufferSize size, Waits waits) {
        this.group = group;
        this.name = name;
        this.shape = shape;
        this.placement = placement;
        this.size = size;
        this.waits = waits;
    }

    /** True from {@link #close} on. */
    protected abstract boolean isClosed();

    @Override
    public final EpGroup group() {
        return group;
    }

    /** For messages. */
    protected final String name() {
        return name;
    }

    @Override
    public final EpShape shape() {
        return shape;
    }

    @Override
    public final ExpertPlacement placement() {
        return placement;
    }

    @Override
    public final BufferSize size() {
        return size;
    }

    @Override
    public final Set<Integer> maskedRanks() {
        return waits.mask().toSet();
    }

    /** Before anything that needs the buffer's memory. */
    protected final void requireOpen() {
        if (isClosed()) {
            throw new EpStateException("the buffer is closed; create another one");
        }
    }

    /** Before anything of the high-throughput mode. */
    protected final void requireHighThroughput() {
        requireOpen();
        if (shape.maxTokens() == 0) {
            throw new EpStateException(
                    "the buffer was created without high throughput (maxTokens is 0); set maxTokens when creating the buffer");
        }
    }

    /** Before anything of the low-latency mode. */
    protected final void requireLowLatency() {
        requireOpen();
        if (shape.maxLowLatencyTokens() == 0) {
            throw new EpStateException(
                    "the buffer was created without low latency (maxLowLatencyTokens is 0); set maxLowLatencyTokens when creating the buffer");
        }
    }

    /** Before a rank is masked. */
    protected final void requireOther(int rank) {
        requireOpen();
        if (rank < 0 || rank >= group.size() || rank == group.rank()) {
            throw new EpArgumentException(
                    "rank",
                    rank,
                    "another rank in [0, " + group.size() + ")",
                    "a rank cannot mask itself; close the group to leave it");
        }
    }

    @Override
    public final String toString() {
        return name + " " + shape;
    }
}
