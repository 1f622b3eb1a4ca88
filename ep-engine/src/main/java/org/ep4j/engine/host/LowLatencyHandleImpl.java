package org.ep4j.engine.host;

import org.ep4j.EpStateException;
import org.ep4j.LowLatencyHandle;
import org.jspecify.annotations.Nullable;

/** Routing of a low-latency dispatch: as sender at once, as receiver from the end of the receive on. */
final class LowLatencyHandleImpl implements LowLatencyHandle {
    private final LowLatency owner;
    private final long number;
    private final Routing routing;
    private final float @Nullable [] weights;
    private volatile @Nullable Received received;

    LowLatencyHandleImpl(LowLatency owner, long number, Routing routing, float @Nullable [] weights) {
        this.owner = owner;
        this.number = number;
        this.routing = routing;
        this.weights = weights;
    }

    /**
     * What arrived, by message: one for each (source rank, source token).
     *
     * @param sourceRanks {@code [messages]}
     * @param sourceTokens {@code [messages]}
     * @param rows {@code [messages * K]}: row in {@code [L * rows an expert]} of each selection, -1 where not on this rank
     * @param weights {@code [messages * K]}: weights that came along
     */
    @SuppressWarnings("ArrayRecordComponent")
    record Received(int[] sourceRanks, int[] sourceTokens, int[] rows, float[] weights) {}

    LowLatency owner() {
        return owner;
    }

    /** Number of the dispatch; equal on all ranks. */
    long number() {
        return number;
    }

    Routing routing() {
        return routing;
    }

    /** Weights of this rank's tokens that the dispatch carried, or null. */
    float @Nullable [] weights() {
        return weights;
    }

    void received(Received what) {
        received = what;
    }

    Received received() {
        Received what = received;
        if (what == null) {
            throw new EpStateException(
                    "the dispatch of this handle has not been received; call receive() of its result");
        }
        return what;
    }

    @Override
    public int tokens() {
        return routing.tokens();
    }
}
