package org.ep4j.engine.gpu;

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

/**
 * A high-throughput dispatch that is queued, or done. What is sized by the counts waits for them; in the worst case nothing
 * waits, so that work on the same stream can be queued behind it.
 *
 * @param mode its mode
 * @param own its routing
 * @param call its number on this rank
 * @param event its end
 * @param rowTensor the rows
 * @param exact true when results are sized by what arrived
 * @param worstRows most rows that could arrive
 * @param fp8 true when scales came along
 * @param weighted true when weights came along
 */
record HighThroughputResult(
        HighThroughput mode,
        HighThroughputHandle own,
        long call,
        EpEvent event,
        Rows rowTensor,
        boolean exact,
        long worstRows,
        boolean fp8,
        boolean weighted)
        implements DispatchResult {
    /** Gives the tensor of the first rows. */
    interface Rows {
        Tensor tensor(long rows);
    }

    private GpuState state() {
        return mode.state();
    }

    private int topK() {
        return state().shape().topK();
    }

    private void check() {
        mode.dispatches().check(call);
    }

    @Override
    public DispatchHandle handle() {
        return own;
    }

    @Override
    public long rows() {
        check();
        if (!exact) {
            return worstRows;
        }
        event.await(state().waits().longest());
        return own.rows();
    }

    @Override
    public Tensor x() {
        return rowTensor.tensor(rows());
    }

    @Override
    public Optional<Tensor> scales() {
        long rows = rows();
        return fp8
                ? Optional.of(state().tensor(
                                own.byExpert() ? EXPANDED_SCALES : SCALES,
                                DataType.FP32,
                                rows,
                                state().shape().scales()))
                : Optional.empty();
    }

    @Override
    public Optional<Tensor> topkIds() {
        long rows = rows();
        return own.byExpert()
                ? Optional.empty()
                : Optional.of(state().tensor(TOPK_IDS, own.wideIds() ? DataType.INT64 : DataType.INT32, rows, topK()));
    }

    @Override
    public Optional<Tensor> topkWeights() {
        long rows = rows();
        if (!weighted) {
            return Optional.empty();
        }
        return Optional.of(
                own.byExpert()
                        ? state().tensor(TOPK_WEIGHTS, DataType.FP32, rows)
                        : state().tensor(TOPK_WEIGHTS, DataType.FP32, rows, topK()));
    }

    @Override
    public Tensor sourceRanks() {
        return state().tensor(SOURCE_RANKS, DataType.INT32, rows());
    }

    @Override
    public Tensor sourceTokens() {
        return state().tensor(SOURCE_TOKENS, DataType.INT32, rows());
    }

    @Override
    public Tensor rowsPerSource() {
        check();
        return state().tensor(ROWS_PER_SOURCE, DataType.INT32, state().ranks());
    }

    @Override
    public Tensor rowsPerExpert() {
        check();
        return state().tensor(ROWS_PER_EXPERT, DataType.INT32, state().localExperts());
    }

    @Override
    public Tensor expertOffsets() {
        check();
        return state().tensor(EXPERT_OFFSETS, DataType.INT64, state().localExperts() + 1L);
    }

    @Override
    public int[] tokensPerExpert() {
        check();
        event.await(state().waits().longest());
        int[] aligned = new int[state().localExperts()];
        // Rows received, rows seen, selections of the experts, then offsets.
        int offsets = 2 + aligned.length;
        for (int e = 0; e < aligned.length; e++) {
            aligned[e] = (int) (own.count(offsets + e + 1) - own.count(offsets + e));
        }
        return aligned;
    }
}
