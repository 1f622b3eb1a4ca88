package org.ep4j.tck.oracle;

import java.util.Arrays;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchResult;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;

/**
 * Compares results with the oracle, element by element and bit by bit. Every method returns the number of elements that it
 * compared and throws an {@link AssertionError} that names the first difference. Not safe for use from several threads.
 */
public final class Verifier {
    private final Arena arena;

    /** Reads through {@code arena}. */
    public Verifier(Arena arena) {
        this.arena = arena;
    }

    /**
     * A high-throughput dispatch.
     *
     * @param carried what was sent with the rows
     */
    public long dispatch(DispatchResult result, RowTable table, Carried carried) {
        int rows = table.rows();
        if (carried.exactCounts()) {
            Compare.equal("rows", result.rows(), (long) rows);
        } else if (result.rows() < rows) {
            throw new AssertionError("rows is " + result.rows() + ", must be at least " + rows);
        }
        Compare.equal("layout of the handle", result.handle().layout(), table.layout());
        Compare.equal(
                "tokens of the handle",
                result.handle().tokens(),
                table.workload().tokens(table.rank()));
        Compare.equal("rows of the handle", result.handle().rows(), (long) rows);
        long elements = sources(result, table) + counts(result, table);
        elements += carried.fp8() ? fp8Rows(result, table, carried) : bf16Rows(result.x(), table, carried);
        elements += ids(result, table, carried);
        elements += weights(result, table, carried);
        return elements;
    }

    /** A high-throughput combine. */
    public long combine(CombineResult result, CombineOracle oracle, Workload workload, int rank, CombineWant want) {
        combined(
                result,
                workload,
                rank,
                (token, row) ->
                        oracle.highThroughput(rank, token, want.layout(), want.precision(), want.biases(), row));
        Compare.equal("presence of combined weights", result.weights().isPresent(), want.weights());
        if (want.weights()) {
            Tensor weights = result.weights().orElseThrow();
            shape("combined weights", weights, DataType.FP32, workload.tokens(rank), workload.topK());
            arena.readFloats(weights, workload.tokens(rank), (token, seen) -> {
                for (int k = 0; k < seen.length; k++) {
                    Compare.floatBits(
                            "combined weights[token " + token + "][" + k + "]",
                            seen[k],
                            oracle.returnedWeight(rank, token, k));
                }
            });
        }
        return (long) workload.tokens(rank) * (workload.hidden() + (want.weights() ? workload.topK() : 0));
    }

    /**
     * A low-latency dispatch.
     *
     * @param slots rows of one expert in the output, R times the most tokens
     */
    public long dispatch(LowLatencyDispatchResult result, SlotTable table, WireFormat format, long slots) {
        return new SlotVerifier(arena).verify(result, table, format, slots);
    }

    /** A low-latency combine of unrounded rows. */
    public long combine(
            CombineResult result, CombineOracle oracle, Workload workload, int rank, CombinePrecision precision) {
        combined(result, workload, rank, (token, row) -> oracle.lowLatency(rank, token, precision, row));
        Compare.equal("presence of combined weights", result.weights().isPresent(), false);
        return (long) workload.tokens(rank) * workload.hidden();
    }

    /** A low-latency combine of LogFMT rows, within the bounds of {@link LogFmt} and half a unit of the BF16 result. */
    public long combineLogFmt(
            CombineResult result, CombineOracle oracle, Workload workload, int rank, CombinePrecision precision) {
        shape("combined out", result.out(), DataType.BF16, workload.tokens(rank), workload.hidden());
        float[] value = new float[workload.hidden()];
        float[] tolerance = new float[workload.hidden()];
        arena.readShorts(result.out(), workload.tokens(rank), (token, seen) -> {
            oracle.lowLatencyLogFmt(rank, token, precision, value, tolerance);
            for (int h = 0; h < seen.length; h++) {
                float got = Bf16.toFloat(seen[h]);
                float allowed = tolerance[h] + (Math.abs(value[h]) + tolerance[h]) * 0x1p-8f;
                if (!(Math.abs(got - value[h]) <= allowed)) {
                    throw new AssertionError("combined out[token " + token + "][channel " + h + "] is " + got
                            + ", must be " + value[h] + " +- " + allowed);
                }
            }
        });
        return (long) workload.tokens(rank) * workload.hidden();
    }

    private void combined(CombineResult result, Workload workload, int rank, Arena.RowVisitor<short[]> oracle) {
        shape("combined out", result.out(), DataType.BF16, workload.tokens(rank), workload.hidden());
        short[] expected = new short[workload.hidden()];
        arena.readShorts(result.out(), workload.tokens(rank), (token, seen) -> {
            oracle.visit(token, expected);
            Compare.shorts("combined out", seen, expected, h -> "[token " + token + "][channel " + h + "]");
        });
    }

    private long sources(DispatchResult result, RowTable table) {
        int[] ranks = arena.device().ints(result.sourceRanks());
        int[] tokens = arena.device().ints(result.sourceTokens());
        Compare.ints("sourceRanks", ranks, padded(table.sourceRank(), ranks.length, result.rows()));
        Compare.ints("sourceTokens", tokens, padded(table.sourceToken(), tokens.length, result.rows()));
        return 2L * table.rows();
    }

    private long counts(DispatchResult result, RowTable table) {
        Compare.ints("rowsPerSource", arena.device().ints(result.rowsPerSource()), table.rowsPerSource());
        Compare.ints("rowsPerExpert", arena.device().ints(result.rowsPerExpert()), table.rowsPerExpert());
        if (table.layout() == RowLayout.BY_EXPERT) {
            Compare.longs("expertOffsets", arena.device().longs(result.expertOffsets()), table.expertOffsets());
        }
        Compare.ints("hostRowsPerExpert", result.hostRowsPerExpert(), table.alignedPerExpert());
        return table.rowsPerSource().length + 3L * table.rowsPerExpert().length;
    }

    private long bf16Rows(Tensor x, RowTable table, Carried carried) {
        int hidden = table.workload().hidden();
        shape("x", x, DataType.BF16, -1, hidden);
        short[] expected = new short[hidden];
        arena.readShorts(x, table.rows(), (row, seen) -> {
            if (table.sourceRank()[row] >= 0) {
                table.workload().row(table.sourceRank()[row], table.sourceToken()[row], expected);
            } else if (carried.zeroPadding()) {
                Arrays.fill(expected, (short) 0);
            } else {
                return;
            }
            Compare.shorts("x", seen, expected, h -> where(table, row) + "[channel " + h + "]");
        });
        return (long) table.rows() * hidden;
    }

    private long fp8Rows(DispatchResult result, RowTable table, Carried carried) {
        Workload workload = table.workload();
        shape("x", result.x(), carried.rows(), -1, workload.hidden());
        byte[] expected = new byte[workload.hidden()];
        arena.readBytes(result.x(), table.rows(), (row, seen) -> {
            if (table.sourceRank()[row] >= 0) {
                workload.fp8Row(table.sourceRank()[row], table.sourceToken()[row], expected);
            } else if (carried.zeroPadding()) {
                Arrays.fill(expected, (byte) 0);
            } else {
                return;
            }
            Compare.bytes("x", seen, expected, h -> where(table, row) + "[channel " + h + "]");
        });
        Tensor scales = result.scales().orElseThrow(() -> new AssertionError("scales are missing for FP8 rows"));
        shape("scales", scales, DataType.FP32, -1, workload.scales());
        float[] wanted = new float[workload.scales()];
        arena.readFloats(scales, table.rows(), (row, seen) -> {
            if (table.sourceRank()[row] >= 0) {
                workload.fp8Scales(table.sourceRank()[row], table.sourceToken()[row], wanted);
                for (int s = 0; s < wanted.length; s++) {
                    Compare.floatBits("scales" + where(table, row) + "[" + s + "]", seen[s], wanted[s]);
                }
            }
        });
        return (long) table.rows() * (workload.hidden() + workload.scales());
    }

    private long ids(DispatchResult result, RowTable table, Carried carried) {
        boolean present = table.layout() == RowLayout.BY_RANK;
        Compare.equal("presence of topkIds", result.topkIds().isPresent(), present);
        if (!present) {
            return 0;
        }
        int topK = table.workload().topK();
        Tensor tensor = result.topkIds().orElseThrow();
        shape("topkIds", tensor, carried.idType(), -1, topK);
        long[] seen = arena.readIds(tensor);
        for (int i = 0; i < seen.length; i++) {
            int row = i / topK;
            long expected = row < table.rows() ? table.localId(row, i % topK) : -1;
            if (seen[i] != expected) {
                throw new AssertionError("topkIds[row " + row + "][" + i % topK + "] is " + seen[i] + ", must be "
                        + expected + (row < table.rows() ? "" : " (a row after the last valid row)"));
            }
        }
        return seen.length;
    }

    private long weights(DispatchResult result, RowTable table, Carried carried) {
        Compare.equal("presence of topkWeights", result.topkWeights().isPresent(), carried.weights());
        if (!carried.weights()) {
            return 0;
        }
        Workload workload = table.workload();
        boolean byRank = table.layout() == RowLayout.BY_RANK;
        int width = byRank ? workload.topK() : 1;
        Tensor tensor = result.topkWeights().orElseThrow();
        long[] dims = byRank ? new long[] {result.rows(), width} : new long[] {result.rows()};
        SlotVerifier.shape("topkWeights", tensor, DataType.FP32, dims);
        float[] seen = arena.device().floats(tensor);
        for (int i = 0; i < table.rows() * width; i++) {
            int row = i / width;
            int place = byRank ? i % width : table.place()[row];
            boolean here = byRank ? table.localId(row, place) >= 0 : table.sourceRank()[row] >= 0;
            float expected = here ? workload.weight(table.sourceRank()[row], table.sourceToken()[row], place) : 0f;
            Compare.floatBits("topkWeights" + where(table, row) + "[" + i % width + "]", seen[i], expected);
        }
        return seen.length;
    }

    static void shape(String what, Tensor tensor, DataType type, long rows, long width) {
        if (tensor.type() != type
                || tensor.dimensions() != 2
                || (rows >= 0 && tensor.dim(0) != rows)
                || tensor.dim(1) != width) {
            throw new AssertionError(what + " is " + tensor + ", must be " + type + "[" + (rows < 0 ? "rows" : rows)
                    + ", " + width + "]");
        }
    }

    private static int[] padded(int[] exact, int length, long rows) {
        if (length != rows) {
            throw new AssertionError("a source tensor has " + length + " elements, must have " + rows);
        }
        int[] all = Arrays.copyOf(exact, length);
        Arrays.fill(all, exact.length, length, -1);
        return all;
    }

    private static String where(RowTable table, int row) {
        return table.sourceRank()[row] < 0
                ? "[row " + row + ", padding]"
                : "[row " + row + ", from rank " + table.sourceRank()[row] + " token " + table.sourceToken()[row] + "]";
    }

    /**
     * What travelled with the rows of a high-throughput dispatch.
     *
     * @param rows type of the rows; scales come along with FP8
     * @param idType INT32 or INT64
     * @param weights true when weights were sent
     * @param zeroPadding true when padding must be zero
     * @param exactCounts false when the result has worst-case size
     */
    public record Carried(DataType rows, DataType idType, boolean weights, boolean zeroPadding, boolean exactCounts) {
        /** True where scales come along. */
        public boolean fp8() {
            return rows.isFp8();
        }
    }

    /**
     * What a high-throughput combine was asked for.
     *
     * @param layout of the dispatch
     * @param precision how it adds up
     * @param biases number of biases
     * @param weights true when weights were sent back
     */
    public record CombineWant(RowLayout layout, CombinePrecision precision, int biases, boolean weights) {}
}
