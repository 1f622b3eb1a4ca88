package org.ep4j.tck.oracle;

import java.util.Arrays;
import org.ep4j.DataType;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;

/** Compares a low-latency dispatch with its table. */
final class SlotVerifier {
    private final Arena arena;

    SlotVerifier(Arena arena) {
        this.arena = arena;
    }

    long verify(LowLatencyDispatchResult result, SlotTable table, WireFormat format, long slots) {
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
        int[] counts = new int[local];
        for (int e = 0; e < local; e++) {
            counts[e] = table.count(e);
        }
        Compare.ints("rowsPerExpert", arena.device().ints(result.rowsPerExpert()), counts);
        ranges(arena.device().longs(result.layoutRanges()), table);
        Compare.equal("presence of scales", result.scales().isPresent(), format != WireFormat.BF16);
        long elements = 0;
        for (int e = 0; e < local; e++) {
            elements += tokens(Arena.part(result.sourceTokens(), e), table, e);
            if (format == WireFormat.BF16) {
                elements += bf16(Arena.part(result.x(), e), table, e);
            } else {
                Tensor scales = result.scales().orElseThrow();
                elements += codes(Arena.part(result.x(), e), table, e, format);
                elements += format == WireFormat.FP8_UE8M0
                        ? ue8m0(scales, table, e, slots)
                        : scales(scales, table, e, format, slots);
            }
        }
        return elements + 2L * local * table.workload().ranks();
    }

    /** The first row of an empty range means nothing and is not compared. */
    private static void ranges(long[] seen, SlotTable table) {
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

    private long tokens(Tensor seen, SlotTable table, int expert) {
        int[] tokens = arena.device().ints(seen);
        for (int row = 0; row < table.count(expert); row++) {
            if (tokens[row] != table.sourceToken()[expert][row]) {
                throw new AssertionError("sourceTokens" + where(table, expert, row) + " is " + tokens[row]
                        + ", must be " + table.sourceToken()[expert][row]);
            }
        }
        return table.count(expert);
    }

    private long bf16(Tensor x, SlotTable table, int expert) {
        short[] expected = new short[table.workload().hidden()];
        arena.readShorts(x, table.count(expert), (row, seen) -> {
            source(table, expert, row, expected);
            Compare.shorts("x", seen, expected, h -> where(table, expert, row) + "[channel " + h + "]");
        });
        return (long) table.count(expert) * expected.length;
    }

    private long codes(Tensor x, SlotTable table, int expert, WireFormat format) {
        short[] source = new short[table.workload().hidden()];
        byte[] expected = new byte[source.length];
        float[] scales = new float[table.workload().scales()];
        arena.readBytes(x, table.count(expert), (row, seen) -> {
            source(table, expert, row, source);
            Fp8Cast.cast(source, format, expected, scales);
            Compare.bytes("x", seen, expected, h -> where(table, expert, row) + "[channel " + h + "]");
        });
        return (long) table.count(expert) * expected.length;
    }

    private long scales(Tensor all, SlotTable table, int expert, WireFormat format, long slots) {
        int width = table.workload().scales();
        shape("scales", all, DataType.FP32, table.localExperts(), slots, width);
        short[] source = new short[table.workload().hidden()];
        byte[] codes = new byte[source.length];
        float[] expected = new float[width];
        arena.readFloats(Arena.part(all, expert), table.count(expert), (row, seen) -> {
            source(table, expert, row, source);
            Fp8Cast.cast(source, format, codes, expected);
            for (int s = 0; s < width; s++) {
                Compare.floatBits("scales" + where(table, expert, row) + "[" + s + "]", seen[s], expected[s]);
            }
        });
        return (long) table.count(expert) * width;
    }

    private long ue8m0(Tensor all, SlotTable table, int expert, long slots) {
        int width = table.workload().scales();
        shape("scales", all, DataType.UE8M0, table.localExperts(), slots, (width + 3L) / 4 * 4);
        short[] source = new short[table.workload().hidden()];
        byte[] codes = new byte[source.length];
        float[] scales = new float[width];
        arena.readBytes(Arena.part(all, expert), table.count(expert), (row, seen) -> {
            source(table, expert, row, source);
            Fp8Cast.cast(source, WireFormat.FP8_UE8M0, codes, scales);
            for (int s = 0; s < width; s++) {
                Compare.equal("scales" + where(table, expert, row) + "[" + s + "]", seen[s], Fp8Cast.ue8m0(scales[s]));
            }
        });
        return (long) table.count(expert) * width;
    }

    private static void source(SlotTable table, int expert, int row, short[] out) {
        table.workload().row(table.sourceRank()[expert][row], table.sourceToken()[expert][row], out);
    }

    private static String where(SlotTable table, int expert, int row) {
        return "[expert " + expert + "][row " + row + ", from rank " + table.sourceRank()[expert][row] + " token "
                + table.sourceToken()[expert][row] + "]";
    }

    static void shape(String what, Tensor tensor, DataType type, long... dims) {
        if (!tensor.equals(Tensor.of(tensor.memory(), type, dims))) {
            throw new AssertionError(what + " is " + tensor + ", must be " + type + Arrays.toString(dims));
        }
    }
}
