package org.ep4j.tck.oracle;

import java.util.Arrays;
import org.ep4j.EpShape;

/**
 * The largest distance by which LogFMT-10 may move a value. A block of 128 channels goes as 9-bit logarithms with a sign when its largest
 * magnitude is below 1 and its smallest is smaller than that; otherwise its BF16 goes unchanged.
 *
 * <p>With {@code Lmax = log2 max|x|}, {@code Lmin = max(log2 min|x|, Lmax - 32)} and 510 steps between them, neighbouring
 * levels differ by the factor {@code 2^step}; rounding to the nearer of two levels moves a value by at most half their
 * distance. Values below the smallest level move by at most that level. A margin of 2^-12 covers single-precision
 * logarithms, and 2^-8 a decoder that rounds to BF16.
 */
public final class LogFmt {
    private static final double RANGE = 32;
    private static final double STEPS = 510;
    private static final double MARGIN = 0x1p-12 + 0x1p-8;

    private LogFmt() {}

    /** Fills {@code out} with the largest allowed error of each element of a row; 0 where the block goes unchanged. */
    public static void tolerance(short[] row, float[] out) {
        for (int begin = 0; begin < row.length; begin += EpShape.SCALE_BLOCK) {
            int end = Math.min(row.length, begin + EpShape.SCALE_BLOCK);
            float max = 0;
            float min = Float.POSITIVE_INFINITY;
            for (int h = begin; h < end; h++) {
                float magnitude = Math.abs(Bf16.toFloat(row[h]));
                max = Math.max(max, magnitude);
                min = Math.min(min, magnitude);
            }
            double upper = Math.log(max) / Math.log(2);
            double lower = Math.max(Math.log(min) / Math.log(2), upper - RANGE);
            if (!(upper < 0) || !(lower < upper)) {
                Arrays.fill(out, begin, end, 0f);
                continue;
            }
            double halfStep = (Math.pow(2, (upper - lower) / STEPS) - 1) / 2 + MARGIN;
            double smallest = min < Math.pow(2, lower) ? Math.pow(2, lower) : 0;
            for (int h = begin; h < end; h++) {
                out[h] = (float) Math.max(Math.abs(Bf16.toFloat(row[h])) * halfStep, smallest);
            }
        }
    }
}
