package org.ep4j.tck.oracle;

import java.util.Arrays;
import org.ep4j.DataType;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;

/** Writes the rows, ids and weights of a {@link Workload} to device memory. Not safe for use from several threads. */
public final class Inputs {
    private final Arena arena;
    private final Workload workload;

    /** Creates the inputs of {@code workload} in memory of {@code arena}. */
    public Inputs(Arena arena, Workload workload) {
        this.arena = arena;
        this.workload = workload;
    }

    /** Returns the {@code [T, H]} BF16 rows of {@code rank}. */
    public Tensor rows(int rank) {
        Tensor x = arena.allocate(DataType.BF16, workload.tokens(rank), workload.hidden());
        arena.fillShorts(x, (token, out) -> workload.row(rank, token, out));
        return x;
    }

    /** Returns the {@code [T, H]} FP8 rows of {@code rank}; the bytes are the same for both types. */
    public Tensor fp8Rows(int rank, DataType type) {
        Tensor x = arena.allocate(type, workload.tokens(rank), workload.hidden());
        arena.fillBytes(x, (token, out) -> workload.fp8Row(rank, token, out));
        return x;
    }

    /** Returns the {@code [T, S]} FP32 scales of the FP8 rows. */
    public Tensor fp8Scales(int rank) {
        Tensor scales = arena.allocate(DataType.FP32, workload.tokens(rank), workload.scales());
        arena.fillFloats(scales, (token, out) -> workload.fp8Scales(rank, token, out));
        return scales;
    }

    /** Returns the {@code [T, K]} ids of {@code rank}, INT32 or INT64. */
    public Tensor ids(int rank, DataType type) {
        return type == DataType.INT64
                ? arena.longs(workload.ids(rank), workload.tokens(rank), workload.topK())
                : arena.ints(workload.ids(rank), workload.tokens(rank), workload.topK());
    }

    /** Returns the {@code [T, K]} FP32 weights of {@code rank}. */
    public Tensor weights(int rank) {
        return arena.floats(workload.weights(rank), workload.tokens(rank), workload.topK());
    }

    /** Returns the {@code [T, H]} BF16 rows of bias {@code index}. */
    public Tensor bias(int index, int rank) {
        Tensor bias = arena.allocate(DataType.BF16, workload.tokens(rank), workload.hidden());
        arena.fillShorts(bias, (token, out) -> workload.biasRow(index, rank, token, out));
        return bias;
    }

    /** Writes expert outputs for a high-throughput combine into {@code x}; NaN in padding, which no combine may read. */
    public void outputs(Tensor x, RowTable table, OutputRows outputs) {
        arena.fillShorts(x, (row, out) -> {
            if (row < table.rows() && table.sourceRank()[row] >= 0) {
                outputs.row(table.sourceRank()[row], table.sourceToken()[row], table.key(row), out);
            } else {
                Arrays.fill(out, (short) 0x7fc0);
            }
        });
    }

    /** Returns the weights that experts return: {@code [rows, K]} by rank, with NaN where no combine may read, or {@code [rows]}. */
    public Tensor returnedWeights(RowTable table, long rows) {
        boolean byRank = table.layout() == RowLayout.BY_RANK;
        int width = byRank ? workload.topK() : 1;
        float[] values = new float[Math.toIntExact(rows) * width];
        for (int i = 0; i < values.length; i++) {
            int row = i / width;
            values[i] = Float.NaN;
            if (row < table.rows() && table.sourceRank()[row] >= 0) {
                int place = byRank ? i % width : table.place()[row];
                if (!byRank || table.localId(row, place) >= 0) {
                    values[i] = workload.returnedWeight(table.sourceRank()[row], table.sourceToken()[row], place);
                }
            }
        }
        return byRank ? arena.floats(values, rows, width) : arena.floats(values, rows);
    }

    /** Writes expert outputs for a low-latency combine into {@code x} of {@code [L, slots, H]}; other rows stay unchanged. */
    public void outputs(Tensor x, SlotTable table, OutputRows outputs) {
        for (int e = 0; e < table.localExperts(); e++) {
            int expert = e;
            Tensor part = Arena.part(x, e);
            Tensor used = Tensor.of(part.memory(), part.type(), table.count(e), workload.hidden());
            arena.fillShorts(
                    used,
                    (row, out) -> outputs.row(
                            table.sourceRank()[expert][row],
                            table.sourceToken()[expert][row],
                            table.place()[expert][row],
                            out));
        }
    }
}
