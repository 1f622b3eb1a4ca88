package org.ep4j.engine.host;

import static org.ep4j.engine.layout.LocalLayout.HighThroughput.EXPANDED_SCALES;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.EXPERT_OFFSETS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.ROWS_PER_EXPERT;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.ROWS_PER_SOURCE;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.SCALES;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.SOURCE_RANKS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.SOURCE_TOKENS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.TOPK_IDS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.TOPK_WEIGHTS;

import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchResult;
import org.ep4j.EpEvent;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.LocalLayout;

/**
 * A finished high-throughput dispatch.
 *
 * @param mode its mode
 * @param own its handle
 * @param routing of the handle
 * @param number its number
 * @param rowTensor the rows
 * @param rows how many, as the caller sees them
 * @param scaleCount scales of a row, 0 for BF16
 * @param weighted true when weights came along
 * @param idType type of the ids that the caller sent
 */
record HighThroughputResult(
        HighThroughput mode,
        HighThroughputHandle own,
        HighThroughputRouting routing,
        long number,
        Tensor rowTensor,
        long rows,
        int scaleCount,
        boolean weighted,
        DataType idType)
        implements DispatchResult {
    private Tensor tensor(LocalLayout.HighThroughput region, DataType type, long... dims) {
        HostState state = mode.state();
        return state.highThroughput().tensor(state.layout().offset(region), type, dims);
    }

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
        return scaleCount == 0
                ? Optional.empty()
                : Optional.of(tensor(own.byExpert() ? EXPANDED_SCALES : SCALES, DataType.FP32, rows, scaleCount));
    }

    @Override
    public Optional<Tensor> topkIds() {
        check();
        return own.byExpert()
                ? Optional.empty()
                : Optional.of(
                        tensor(TOPK_IDS, idType, rows, mode.state().shape().topK()));
    }

    @Override
    public Optional<Tensor> topkWeights() {
        check();
        if (!weighted) {
            return Optional.empty();
        }
        return Optional.of(
                own.byExpert()
                        ? tensor(TOPK_WEIGHTS, DataType.FP32, rows)
                        : tensor(
                                TOPK_WEIGHTS,
                                DataType.FP32,
                                rows,
                                mode.state().shape().topK()));
    }

    @Override
    public Tensor sourceRanks() {
        check();
        return tensor(SOURCE_RANKS, DataType.INT32, rows);
    }

    @Override
    public Tensor sourceTokens() {
        check();
        return tensor(SOURCE_TOKENS, DataType.INT32, rows);
    }

    @Override
    public Tensor rowsPerSource() {
        check();
        return tensor(ROWS_PER_SOURCE, DataType.INT32, mode.state().ranks());
    }

    @Override
    public Tensor rowsPerExpert() {
        check();
        return tensor(ROWS_PER_EXPERT, DataType.INT32, mode.state().localExperts());
    }

    @Override
    public Tensor expertOffsets() {
        check();
        return tensor(EXPERT_OFFSETS, DataType.INT64, mode.state().localExperts() + 1);
    }

    @Override
    public int[] tokensPerExpert() {
        check();
        long[] offsets = routing.expertOffsets();
        int[] aligned = new int[offsets.length - 1];
        for (int e = 0; e < aligned.length; e++) {
            aligned[e] = (int) (offsets[e + 1] - offsets[e]);
        }
        // Of a handle that is closed, the next dispatch may have filled these meanwhile.
        check();
        return aligned;
    }
}
