package org.ep4j.engine.buffer;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import org.ep4j.BufferSize;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchLayout;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.ExpertPlacement;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Recovery;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.ShapeSizes;

/** The buffer of the API: checks that are the same on every device, in front of a device's buffer, with the options of one view. */
public final class EngineBuffer implements EpBuffer {
    private final DeviceBuffer buffer;
    private final EpGroup group;
    private final String name;
    private final OpOptions options;

    /** Creates the first view of a buffer; {@code name} is for messages. */
    public EngineBuffer(DeviceBuffer buffer, EpGroup group, String name) {
        this(buffer, group, name, OpOptions.DEFAULT);
    }

    private EngineBuffer(DeviceBuffer buffer, EpGroup group, String name, OpOptions options) {
        this.buffer = buffer;
        this.group = group;
        this.name = name;
        this.options = options;
    }

    /** Returns the device's buffer behind a view, if it is of this type. */
    public static <T> Optional<T> on(EpBuffer buffer, Class<T> type) {
        return buffer instanceof EngineBuffer view && type.isInstance(view.buffer)
                ? Optional.of(type.cast(view.buffer))
                : Optional.empty();
    }

    @Override
    public EpGroup group() {
        return group;
    }

    @Override
    public EpShape shape() {
        return buffer.state().shape();
    }

    @Override
    public ExpertPlacement placement() {
        return buffer.state().placement();
    }

    @Override
    public BufferSize size() {
        return buffer.size();
    }

    @Override
    public OpOptions options() {
        return options;
    }

    @Override
    public EpBuffer withOptions(OpOptions changed) {
        return new EngineBuffer(buffer, group, name, changed);
    }

    @Override
    public long maxRows(RowLayout layout, int expertAlignment) {
        requireHighThroughput();
        if (expertAlignment < 1 || expertAlignment > EpShape.MAX_EXPERT_ALIGNMENT) {
            throw new EpArgumentException(
                    "expertAlignment",
                    expertAlignment,
                    "in [1, " + EpShape.MAX_EXPERT_ALIGNMENT + "]",
                    "1 means no padding");
        }
        BufferState state = buffer.state();
        RequestChecks.requireLayout(state.shape(), layout);
        return ShapeSizes.maxRows(state.shape(), state.ranks(), state.localExperts(), layout, expertAlignment);
    }

    @Override
    public long maxLowLatencyRows() {
        requireLowLatency();
        return ShapeSizes.lowLatencyRows(shape(), buffer.state().ranks());
    }

    @Override
    public DispatchLayout dispatchLayout(Tensor topkIds) {
        requireOpen();
        return buffer.dispatchLayout(topkIds);
    }

    @Override
    public DispatchResult dispatch(DispatchRequest request) {
        requireHighThroughput();
        return buffer.dispatch(request, options);
    }

    @Override
    public CombineResult combine(CombineRequest request) {
        requireHighThroughput();
        return buffer.combine(request, options);
    }

    @Override
    public LowLatencyDispatchResult lowLatencyDispatch(LowLatencyDispatchRequest request) {
        requireLowLatency();
        return buffer.lowLatencyDispatch(request, options);
    }

    @Override
    public CombineResult lowLatencyCombine(LowLatencyCombineRequest request) {
        requireLowLatency();
        return buffer.lowLatencyCombine(request, options);
    }

    @Override
    public Tensor combineInput() {
        requireHighThroughput();
        BufferState state = buffer.state();
        BufferLayout layout = state.symmetricLayout();
        return BufferState.tensor(
                state.symmetric(),
                layout.combineArea(),
                DataType.BF16,
                layout.combineInputBytes() / layout.rowBytes(),
                state.shape().hidden());
    }

    @Override
    public Tensor nextLowLatencyCombineInput() {
        long rows = maxLowLatencyRows();
        BufferState state = buffer.state();
        return state.tensor(
                buffer.lowLatencyCombines() + 1,
                LocalLayout.LowLatency.COMBINE_INPUT,
                DataType.BF16,
                state.localExperts(),
                rows,
                state.shape().hidden());
    }

    @Override
    public Set<Integer> maskedRanks() {
        return buffer.state().waits().mask().toSet();
    }

    @Override
    public void mask(int rank) {
        requireOpen();
        if (rank < 0 || rank >= group.size() || rank == group.rank()) {
            throw new EpArgumentException(
                    "rank",
                    rank,
                    "another rank in [0, " + group.size() + ")",
                    "a rank cannot mask itself; close the group to leave it");
        }
        buffer.mask(rank);
    }

    @Override
    public void clearMasks(Duration timeout) {
        requireOpen();
        buffer.clearMasks(timeout);
    }

    @Override
    public Recovery recover(Duration timeout) {
        requireOpen();
        return buffer.recover(timeout);
    }

    private void requireOpen() {
        if (buffer.isClosed()) {
            throw new EpStateException("the buffer is closed; create another one");
        }
    }

    private void requireHighThroughput() {
        requireMode("high throughput", "maxTokens", shape().maxTokens());
    }

    private void requireLowLatency() {
        requireMode("low latency", "maxLowLatencyTokens", shape().maxLowLatencyTokens());
    }

    private void requireMode(String mode, String size, int tokens) {
        requireOpen();
        if (tokens == 0) {
            throw new EpStateException("the buffer was created without " + mode + " (" + size + " is 0); set " + size
                    + " when creating the buffer");
        }
    }

    @Override
    public void close() {
        buffer.close();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof EngineBuffer view && view.buffer == buffer && view.options.equals(options);
    }

    @Override
    public int hashCode() {
        return 31 * System.identityHashCode(buffer) + options.hashCode();
    }

    @Override
    public String toString() {
        return name + " " + shape();
    }
}
