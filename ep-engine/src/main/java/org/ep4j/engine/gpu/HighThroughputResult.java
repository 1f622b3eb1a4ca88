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
import org.ep4j.DispatchOutputs;
import org.ep4j.DispatchResult;
import org.ep4j.EpEvent;
import org.ep4j.ScaleLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.ScaleGrid;

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
 * @param outputs tensors of the caller for the other results
 * @param grid of the scales that came along; empty for BF16
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
        DispatchOutputs outputs,
        Optional<ScaleGrid> grid,
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

    /** A tensor of the caller, or else of the buffer. */
    private Tensor tensor(Optional<Tensor> given, LocalLayout.HighThroughput region, DataType type, long... dims) {
        return given.map(own -> Tensor.of(own.memory(), type, dims))
                .orElseGet(() -> state().tensor(region, type, dims));
    }

    @Override
    public Optional<Tensor> scales() {
        long rows = rows();
        return grid.map(g -> {
            // In columns all of the caller's tensor.
            long most = g.layout() == ScaleLayout.COLUMNS
                    ? outputs.scales().map(s -> s.dim(1)).orElse(rows)
                    : rows;
            return tensor(outputs.scales(), own.byExpert() ? EXPANDED_SCALES : SCALES, g.type(), g.dims(most));
        });
    }

    @Override
    public Optional<Tensor> topkIds() {
        long rows = rows();
        return own.byExpert()
                ? Optional.empty()
                : Optional.of(tensor(
                        outputs.topkIds(), TOPK_IDS, own.wideIds() ? DataType.INT64 : DataType.INT32, rows, topK()));
    }

    @Override
    public Optional<Tensor> topkWeights() {
        long rows = rows();
        if (!weighted) {
            return Optional.empty();
        }
        return Optional.of(
                own.byExpert()
                        ? tensor(outputs.topkWeights(), TOPK_WEIGHTS, DataType.FP32, rows)
                        : tensor(outputs.topkWeights(), TOPK_WEIGHTS, DataType.FP32, rows, topK()));
    }

    @Override
    public Tensor sourceRanks() {
        return tensor(outputs.sourceRanks(), SOURCE_RANKS, DataType.INT32, rows());
    }

    @Override
    public Tensor sourceTokens() {
        return tensor(outputs.sourceTokens(), SOURCE_TOKENS, DataType.INT32, rows());
    }

    @Override
    public long droppedRows() {
        check();
        event.await(state().waits().longest());
        return own.count(3 + 2 * state().localExperts());
    }

    @Override
    public Tensor rowsPerSource() {
        check();
        return tensor(outputs.rowsPerSource(), ROWS_PER_SOURCE, DataType.INT32, state().ranks());
    }

    @Override
    public Tensor rowsPerExpert() {
        check();
        return tensor(outputs.rowsPerExpert(), ROWS_PER_EXPERT, DataType.INT32, state().localExperts());
    }

    @Override
    public Tensor expertOffsets() {
        check();
        return tensor(outputs.expertOffsets(), EXPERT_OFFSETS, DataType.INT64, state().localExperts() + 1L);
    }

    @Override
    public int[] tokensPerExpert() {
        check();
        event.await(state().waits().longest());
        int[] aligned = new int[state().localExperts()];
        // Rows received, rows seen, selections of the experts, then offsets, then rows dropped.
        int offsets = 2 + aligned.length;
        for (int e = 0; e < aligned.length; e++) {
            aligned[e] = (int) (own.count(offsets + e + 1) - own.count(offsets + e));
        }
        return aligned;
    }
}
