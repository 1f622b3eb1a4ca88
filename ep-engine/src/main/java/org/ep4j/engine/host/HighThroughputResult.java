package org.ep4j.engine.host;

import java.util.Optional;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchResult;
import org.ep4j.EpEvent;
import org.ep4j.Tensor;

/**
 * A finished high-throughput dispatch.
 *
 * @param mode its mode
 * @param own its routing
 * @param number its number
 * @param rowTensor the rows
 * @param rows how many, as the caller sees them
 * @param places of the other results
 */
record HighThroughputResult(
        HighThroughput mode,
        HighThroughputHandle own,
        long number,
        Tensor rowTensor,
        long rows,
        HighThroughputPlaces places)
        implements DispatchResult {
    private void check() {
        mode.dispatches().check(number);
    }

    @Override
    public DispatchHandle handle() {
        return own;
    }

    @Override
    public EpEvent event() {
        return EpEvent.completed();
    }

    @Override
    public long rows() {
        check();
        return rows;
    }

    @Override
    public Tensor x() {
        check();
        return rowTensor;
    }

    @Override
    public Optional<Tensor> scales() {
        check();
        return places.isScaled() ? Optional.of(places.scales().tensor()) : Optional.empty();
    }

    @Override
    public Optional<Tensor> topkIds() {
        check();
        return own.byExpert() ? Optional.empty() : Optional.of(places.topkIds().tensor());
    }

    @Override
    public Optional<Tensor> topkWeights() {
        check();
        return places.isWeighted() ? Optional.of(places.topkWeights().tensor()) : Optional.empty();
    }

    @Override
    public Tensor sourceRanks() {
        check();
        return places.sourceRanks().tensor();
    }

    @Override
    public Tensor sourceTokens() {
        check();
        return places.sourceTokens().tensor();
    }

    @Override
    public long droppedRows() {
        check();
        return own.dropped();
    }

    @Override
    public Tensor rowsPerSource() {
        check();
        return places.rowsPerSource().tensor();
    }

    @Override
    public Tensor rowsPerExpert() {
        check();
        return places.rowsPerExpert().tensor();
    }

    @Override
    public Tensor expertOffsets() {
        check();
        return places.expertOffsets().tensor();
    }

    @Override
    public int[] tokensPerExpert() {
        check();
        int[] aligned = new int[own.expertRows().length];
        for (int e = 0; e < aligned.length; e++) {
            aligned[e] = (int) (own.expertOffsets()[e + 1] - own.expertOffsets()[e]);
        }
        return aligned;
    }
}
