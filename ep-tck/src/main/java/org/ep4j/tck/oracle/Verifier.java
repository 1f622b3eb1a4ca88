package org.ep4j.tck.oracle;

import java.util.Arrays;
import java.util.stream.IntStream;
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

    /** Creates a verifier that reads through {@code arena}. */
    public Verifier(Arena arena) {
        this.arena = arena;
    }

    /**
     * Compares a high-throughput dispatch.
     *
     * @param options options of the dispatch
     */
    public long dispatch(DispatchResult result, RowTable table, DispatchOptions options) {
        int rows = table.rows();
        if (options.exactCounts()) {
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
        elements += options.rows().isFp8() ? fp8Rows(result, table, options) : bf16Rows(result.x(), table, options);
        elements += ids(result, table, options);
        elements += weights(result, table, options);
        return elements;
    }

    /** Compares a high-throughput combine. */
    public long combine(
            CombineResult result, CombineOracle oracle, Workload workload, int rank, CombineOptions options) {
        combined(
                result,
                workload,
                rank,
                (token, row) -> oracle.highThroughput(
                        rank, token, options.layout(), options.precision(), options.biases(), row));
        Compare.equal("presence of combined weights", result.weights().isPresent(), options.weights());
        if (options.weights()) {
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
        return (long) workload.tokens(rank) * (workload.hidden() + (options.weights() ? workload.topK() : 0));
    }

    /**
     * Compares a low-latency dispatch.
     *
     * @param slots rows of one expert in the output, R times the most tokens
     */
    public long dispatch(LowLatencyDispatchResult result, SlotTable table, WireFormat format, long slots) {
        int local = table.localExperts();
        int hidden = table.workload().hidden();
        DataType type = format == WireFormat.BF16 ? DataType.BF16 : DataType.FP8_E4M3;
        shape("x", result.x(), type, local, slots, hidden);
        shape("sourceTokens", result.sourceTokens(), DataType.INT32, local, slots);
        shape(
                "layoutRanges",
                result.layoutRanges(),
                DataType.INT64,
                local,
                table.workload().ranks());
        int[] counts = IntStream.range(0, local).map(table::count).toArray();
        Compare.ints("rowsPerExpert", arena.device().ints(result.rowsPerExpert()), counts);
        slotRanges(arena.device().longs(result.layoutRanges()), table);
        Compare.equal("presence of scales", result.scales().isPresent(), format != WireFormat.BF16);
        long elements = 0;
        for (int e = 0; e < local; e++) {
            elements += slotTokens(Arena.part(result.sourceTokens(), e), table, e);
            if (format == WireFormat.BF16) {
                elements += slotRows(Arena.part(result.x(), e), table, e);
            } else {
                elements += slotCodes(Arena.part(result.x(), e), table, e, format);
                elements += slotScales(result.scales().orElseThrow(), table, e, format, slots);
            }
        }
        return elements + 2L * local * table.workload().ranks();
    }

    /** Compares a low-latency combine of unrounded rows. */
    public long combine(
            CombineResult result, CombineOracle oracle, Workload workload, int rank, CombinePrecision precision) {
        combined(result, workload, rank, (token, row) -> oracle.lowLatency(rank, token, precision, row));
        Compare.equal("presence of combined weights", result.weights().isPresent(), false);
        return (long) workload.tokens(rank) * workload.hidden();
    }

    /** Compares a low-latency combine of LogFMT rows, within the bounds of {@link LogFmt} and half a unit of the BF16 result. */
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

    private long bf16Rows(Tensor x, RowTable table, DispatchOptions options) {
        int hidden = table.workload().hidden();
        shape("x", x, DataType.BF16, -1, hidden);
        short[] expected = new short[hidden];
        arena.readShorts(x, table.rows(), (row, seen) -> {
            if (table.sourceRank()[row] >= 0) {
                table.workload().row(table.sourceRank()[row], table.sourceToken()[row], expected);
            } else if (options.zeroPadding()) {
                Arrays.fill(expected, (short) 0);
            } else {
                return;
            }
            Compare.shorts("x", seen, expected, h -> where(table, row) + "[channel " + h + "]");
        });
        return (long) table.rows() * hidden;
    }

    private long fp8Rows(DispatchResult result, RowTable table, DispatchOptions options) {
        Workload workload = table.workload();
        shape("x", result.x(), options.rows(), -1, workload.hidden());
        byte[] expected = new byte[workload.hidden()];
        arena.readBytes(result.x(), table.rows(), (row, seen) -> {
            if (table.sourceRank()[row] >= 0) {
                workload.fp8Row(table.sourceRank()[row], table.sourceToken()[row], expected);
            } else if (options.zeroPadding()) {
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

    private long ids(DispatchResult result, RowTable table, DispatchOptions options) {
        boolean present = table.layout() == RowLayout.BY_RANK;
        Compare.equal("presence of topkIds", result.topkIds().isPresent(), present);
        if (!present) {
            return 0;
        }
        int topK = table.workload().topK();
        Tensor tensor = result.topkIds().orElseThrow();
        shape("topkIds", tensor, options.idType(), -1, topK);
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

    private long weights(DispatchResult result, RowTable table, DispatchOptions options) {
        Compare.equal("presence of topkWeights", result.topkWeights().isPresent(), options.weights());
        if (!options.weights()) {
            return 0;
        }
        Workload workload = table.workload();
        boolean byRank = table.layout() == RowLayout.BY_RANK;
        int width = byRank ? workload.topK() : 1;
        Tensor tensor = result.topkWeights().orElseThrow();
        long[] dims = byRank ? new long[] {result.rows(), width} : new long[] {result.rows()};
        shape("topkWeights", tensor, DataType.FP32, dims);
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

    /** Compares ranges, except for the first row of an empty one, which has no meaning. */
    private static void slotRanges(long[] seen, SlotTable table) {
        int ranks = table.workload().ranks();
        for (int i = 0; i < seen.length; i++) {
            long expected = table.ranges()[i / ranks][i % ranks];
            boolean same = expected << 32 == 0 ? seen[i] << 32 == 0 : seen[i] == expected;
            if (!same) {
                throw new AssertionError("layoutRanges[expert " + i / ranks + "][rank " + i % ranks + "] is "
                        + text(seen[i]) + ", must be " + text(expected));
            }
        }
    }

    private static String text(long range) {
        return (int) range + " rows from " + (range >>> 32);
    }

    private long slotTokens(Tensor seen, SlotTable table, int expert) {
        int[] tokens = arena.device().ints(seen);
        for (int row = 0; row < table.count(expert); row++) {
            if (tokens[row] != table.sourceToken()[expert][row]) {
                throw new AssertionError("sourceTokens" + slot(table, expert, row) + " is " + tokens[row] + ", must be "
                        + table.sourceToken()[expert][row]);
            }
        }
        return table.count(expert);
    }

    private long slotRows(Tensor x, SlotTable table, int expert) {
        short[] expected = new short[table.workload().hidden()];
        arena.readShorts(x, table.count(expert), (row, seen) -> {
            slotSource(table, expert, row, expected);
            Compare.shorts("x", seen, expected, h -> slot(table, expert, row) + "[channel " + h + "]");
        });
        return (long) table.count(expert) * expected.length;
    }

    private long slotCodes(Tensor x, SlotTable table, int expert, WireFormat format) {
        short[] source = new short[table.workload().hidden()];
        byte[] expected = new byte[source.length];
        float[] scales = new float[table.workload().scales()];
        arena.readBytes(x, table.count(expert), (row, seen) -> {
            slotSource(table, expert, row, source);
            Fp8Cast.cast(source, format, expected, scales);
            Compare.bytes("x", seen, expected, h -> slot(table, expert, row) + "[channel " + h + "]");
        });
        return (long) table.count(expert) * expected.length;
    }

    private long slotScales(Tensor all, SlotTable table, int expert, WireFormat format, long slots) {
        int width = table.workload().scales();
        short[] source = new short[table.workload().hidden()];
        byte[] codes = new byte[source.length];
        float[] expected = new float[width];
        if (format == WireFormat.FP8_UE8M0) {
            shape("scales", all, DataType.UE8M0, table.localExperts(), slots, (width + 3L) / 4 * 4);
            arena.readBytes(Arena.part(all, expert), table.count(expert), (row, seen) -> {
                slotSource(table, expert, row, source);
                Fp8Cast.cast(source, format, codes, expected);
                for (int s = 0; s < width; s++) {
                    byte scale = Fp8Cast.ue8m0(expected[s]);
                    Compare.equal("scales" + slot(table, expert, row) + "[" + s + "]", seen[s], scale);
                }
            });
        } else {
            shape("scales", all, DataType.FP32, table.localExperts(), slots, width);
            arena.readFloats(Arena.part(all, expert), table.count(expert), (row, seen) -> {
                slotSource(table, expert, row, source);
                Fp8Cast.cast(source, format, codes, expected);
                for (int s = 0; s < width; s++) {
                    Compare.floatBits("scales" + slot(table, expert, row) + "[" + s + "]", seen[s], expected[s]);
                }
            });
        }
        return (long) table.count(expert) * width;
    }

    private static void slotSource(SlotTable table, int expert, int row, short[] out) {
        table.workload().row(table.sourceRank()[expert][row], table.sourceToken()[expert][row], out);
    }

    private static String slot(SlotTable table, int expert, int row) {
        return "[expert " + expert + "][row " + row + ", from rank " + table.sourceRank()[expert][row] + " token "
                + table.sourceToken()[expert][row] + "]";
    }

    /** Compares a shape; a negative first dimension stands for any number of rows. */
    private static void shape(String what, Tensor tensor, DataType type, long... dims) {
        boolean same = tensor.type() == type && tensor.dimensions() == dims.length;
        for (int i = 0; same && i < dims.length; i++) {
            same = dims[i] < 0 || tensor.dim(i) == dims[i];
        }
        if (!same) {
            throw new AssertionError(what + " is " + tensor + ", must be " + type
                    + Arrays.toString(dims).replace("-1", "rows"));
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
     * Options of a high-throughput dispatch that its result depends on.
     *
     * @param rows type of the rows; FP8 has scales
     * @param idType INT32 or INT64
     * @param weights whether weights were sent
     * @param zeroPadding whether padding must be zero
     * @param exactCounts false when the result has worst-case size
     */
    public record DispatchOptions(
            DataType rows, DataType idType, boolean weights, boolean zeroPadding, boolean exactCounts) {}

    /**
     * Options of a high-throughput combine that its result depends on.
     *
     * @param layout of the dispatch
     * @param precision of the sums
     * @param biases number of biases
     * @param weights whether weights were returned
     */
    public record CombineOptions(RowLayout layout, CombinePrecision precision, int biases, boolean weights) {}
}
