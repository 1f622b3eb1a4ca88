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
import org.ep4j.DispatchOutputs;
import org.ep4j.ScaleLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.ScaleGrid;
import org.ep4j.engine.memory.HostMemory;

/** Where the results of one high-throughput dispatch lie, other than the rows: in tensors of the caller, or in the buffer. */
final class HighThroughputPlaces {
    /**
     * A result.
     *
     * @param memory that it lies in
     * @param base first byte of it there
     * @param tensor of it, as the caller sees it
     */
    record Place(HostMemory memory, long base, Tensor tensor) {}

    private final HostState state;
    private final Place scales;
    private final Place topkIds;
    private final Place topkWeights;
    private final Place sourceRanks;
    private final Place sourceTokens;
    private final Place rowsPerSource;
    private final Place rowsPerExpert;
    private final Place expertOffsets;
    private final Optional<ScaleGrid> grid;
    private final long scaleStride;
    private final boolean weighted;

    /**
     * The places of one dispatch.
     *
     * @param rows that the caller sees
     * @param grid of the scales; empty for BF16
     * @param weighted true when weights came along
     */
    HighThroughputPlaces(
            HostState state,
            DispatchOutputs outputs,
            HighThroughputHandle handle,
            long rows,
            Optional<ScaleGrid> grid,
            boolean weighted) {
        this.state = state;
        this.grid = grid;
        this.scaleStride = grid.map(g -> outputs.scales()
                        .filter(s -> g.layout() == ScaleLayout.COLUMNS)
                        .map(s -> s.dim(1))
                        .orElseGet(() -> g.stride(rows)))
                .orElse(0L);
        this.weighted = weighted;
        boolean byExpert = handle.byExpert();
        int topK = handle.routing().topK();
        int experts = handle.expertRows().length;
        scales = grid.map(g -> place(
                        outputs.scales(),
                        byExpert ? EXPANDED_SCALES : SCALES,
                        g.type(),
                        g.dims(scaleStride == 0 ? rows : scaleStride)))
                .orElseGet(() -> place(Optional.empty(), SCALES, DataType.FP32, rows, 0));
        topkIds = place(outputs.topkIds(), TOPK_IDS, handle.routing().idType(), byExpert ? 0 : rows, topK);
        topkWeights = byExpert
                ? place(outputs.topkWeights(), TOPK_WEIGHTS, DataType.FP32, rows)
                : place(outputs.topkWeights(), TOPK_WEIGHTS, DataType.FP32, rows, topK);
        sourceRanks = place(outputs.sourceRanks(), SOURCE_RANKS, DataType.INT32, rows);
        sourceTokens = place(outputs.sourceTokens(), SOURCE_TOKENS, DataType.INT32, rows);
        rowsPerSource = place(outputs.rowsPerSource(), ROWS_PER_SOURCE, DataType.INT32, state.ranks());
        rowsPerExpert = place(outputs.rowsPerExpert(), ROWS_PER_EXPERT, DataType.INT32, experts);
        expertOffsets = place(outputs.expertOffsets(), EXPERT_OFFSETS, DataType.INT64, experts + 1L);
    }

    private Place place(Optional<Tensor> own, LocalLayout.HighThroughput region, DataType type, long... dims) {
        if (own.isPresent()) {
            Tensor tensor = Tensor.of(own.get().memory(), type, dims);
            return new Place(HostMemory.of(tensor.memory()), 0, tensor);
        }
        long offset = state.layout().offset(region);
        return new Place(
                state.highThroughput().access(), offset, state.highThroughput().tensor(offset, type, dims));
    }

    Place scales() {
        return scales;
    }

    Place topkIds() {
        return topkIds;
    }

    Place topkWeights() {
        return topkWeights;
    }

    Place sourceRanks() {
        return sourceRanks;
    }

    Place sourceTokens() {
        return sourceTokens;
    }

    Place rowsPerSource() {
        return rowsPerSource;
    }

    Place rowsPerExpert() {
        return rowsPerExpert;
    }

    Place expertOffsets() {
        return expertOffsets;
    }

    /** True when scales came along. */
    boolean isScaled() {
        return grid.isPresent();
    }

    /** Puts the scales of a record to a row. */
    void putScales(long row, int[] record, int from) {
        if (grid.isEmpty()) {
            return;
        }
        ScaleGrid words = grid.get();
        if (scaleStride == 0) {
            scales.memory().putInts(scales.base() + 4 * row * words.words(), record, from, words.words());
            return;
        }
        for (int w = 0; w < words.words(); w++) {
            scales.memory().putInt(scales.base() + 4 * words.index(row, w, scaleStride), record[from + w]);
        }
    }

    /** Zeroes the scales of some rows. */
    void zeroScales(long from, long rows) {
        int[] zeros = new int[grid.map(ScaleGrid::words).orElse(0)];
        for (long row = from; row < from + rows; row++) {
            putScales(row, zeros, 0);
        }
    }

    /** True when weights came along. */
    boolean isWeighted() {
        return weighted;
    }
}
