package org.ep4j.tck.oracle;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.stream.LongStream;
import org.ep4j.DataType;
import org.ep4j.ScaleLayout;
import org.ep4j.Tensor;

/** The scales of FP8 rows in a tensor, by row and block of channels, as {@link ScaleLayout} describes them. */
public final class ScaleTensor {
    /** UE8M0 scales of a row that lie together. */
    private static final int PACKED = 4;

    private final DataType type;
    private final ScaleLayout layout;
    private final int scales;
    private final long columnRows;
    private final ByteBuffer bytes;

    private ScaleTensor(DataType type, ScaleLayout layout, int scales, long columnRows, ByteBuffer bytes) {
        this.type = type;
        this.layout = layout;
        this.scales = scales;
        this.columnRows = columnRows;
        this.bytes = bytes;
    }

    /** Dimensions of a tensor with room for so many rows, behind those given. */
    public static long[] dims(DataType type, ScaleLayout layout, int scales, long rows, long... before) {
        long packed = (scales + PACKED - 1L) / PACKED;
        long padded = (rows + 3) & -4;
        LongStream own;
        if (layout == ScaleLayout.ROWS) {
            own = LongStream.of(rows, type == DataType.UE8M0 ? packed * PACKED : scales);
        } else if (type == DataType.UE8M0) {
            own = LongStream.of(packed, padded, PACKED);
        } else {
            own = LongStream.of(scales, padded);
        }
        return LongStream.concat(LongStream.of(before), own).toArray();
    }

    /** Reads a tensor of at least {@code rows} rows. */
    static ScaleTensor read(Arena arena, Tensor tensor, DataType type, ScaleLayout layout, int scales, long rows) {
        int at = layout == ScaleLayout.ROWS ? 0 : 1;
        long seen = tensor.dim(at);
        if (seen < rows) {
            throw new AssertionError("scales of " + seen + " rows for " + rows + " rows");
        }
        SlotVerifier.shape("scales", tensor, type, dims(type, layout, scales, seen));
        return new ScaleTensor(
                type,
                layout,
                scales,
                seen,
                ByteBuffer.wrap(arena.readRaw(tensor)).order(ByteOrder.nativeOrder()));
    }

    /** Compares one scale; UE8M0 is the biased exponent of {@code expected}. */
    void check(String name, int row, int block, float expected) {
        if (type == DataType.UE8M0) {
            int width = (scales + PACKED - 1) / PACKED * PACKED;
            long at = layout == ScaleLayout.ROWS
                    ? (long) row * width + block
                    : (block / PACKED * columnRows + row) * PACKED + block % PACKED;
            byte code = expected == 0 ? 0 : Fp8Cast.ue8m0(expected);
            Compare.equal(name, bytes.get(Math.toIntExact(at)), code);
        } else {
            long at = layout == ScaleLayout.ROWS ? (long) row * scales + block : block * columnRows + row;
            Compare.floatBits(name, bytes.getFloat(Math.toIntExact(at * 4)), expected);
        }
    }
}
