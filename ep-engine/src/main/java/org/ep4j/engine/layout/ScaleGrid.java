package org.ep4j.engine.layout;

import java.util.stream.LongStream;
import org.ep4j.DataType;
import org.ep4j.ScaleLayout;

/**
 * Where the scales of FP8 rows lie, in words of 32 bits: one FP32 scale, or four UE8M0 scales, of a row.
 *
 * @param type FP32 or UE8M0
 * @param scales S, scales of a row
 * @param layout of the words
 */
public record ScaleGrid(DataType type, int scales, ScaleLayout layout) {
    /** UE8M0 scales in a word. */
    private static final int PACKED = 4;

    /** Columns begin at multiples of so many words, 16 bytes. */
    private static final int ALIGNMENT = 4;

    /** Words of a row. */
    public int words() {
        return type == DataType.UE8M0 ? (scales + PACKED - 1) / PACKED : scales;
    }

    /** Words from one column to the next for so many rows; 0 where rows lie side by side. */
    public long stride(long rows) {
        return layout == ScaleLayout.COLUMNS ? padded(rows) : 0;
    }

    /** Rows for which a column has room. */
    public static long padded(long rows) {
        return (rows + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    /** Dimensions of the tensor for so many rows, behind those given. */
    public long[] dims(long rows, long... before) {
        boolean packed = type == DataType.UE8M0;
        LongStream own = layout == ScaleLayout.ROWS
                ? LongStream.of(rows, packed ? (long) PACKED * words() : words())
                : packed ? LongStream.of(words(), padded(rows), PACKED) : LongStream.of(words(), padded(rows));
        return LongStream.concat(LongStream.of(before), own).toArray();
    }

    /**
     * Index of a word.
     *
     * @param stride of columns, 0 where rows lie side by side
     */
    public long index(long row, int word, long stride) {
        return stride == 0 ? row * words() + word : word * stride + row;
    }
}
