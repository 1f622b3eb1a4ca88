package org.ep4j.tck.oracle;

import org.ep4j.EpShape;
import org.ep4j.WireFormat;

/** The cast of BF16 rows to FP8 with one scale for each 128 channels; the last block may be shorter. */
public final class Fp8Cast {
    private static final float LARGEST = 448f;
    private static final float SMALLEST_AMAX = 1e-4f;

    private Fp8Cast() {}

    /**
     * Casts one row.
     *
     * @param row {@code [H]} BF16
     * @param format an FP8 format
     * @param codes {@code [H]} gets the E4M3 codes
     * @param scales {@code [S]} gets the factors that turn codes back into values
     */
    public static void cast(short[] row, WireFormat format, byte[] codes, float[] scales) {
        for (int block = 0; block * EpShape.SCALE_BLOCK < row.length; block++) {
            int begin = block * EpShape.SCALE_BLOCK;
            int end = Math.min(row.length, begin + EpShape.SCALE_BLOCK);
            float amax = amax(row, begin, end);
            float forward;
            if (format == WireFormat.FP8) {
                scales[block] = amax / LARGEST;
                forward = LARGEST / amax;
            } else {
                int exponent = ceilLog2(amax / LARGEST);
                scales[block] = Math.scalb(1f, exponent);
                forward = Math.scalb(1f, -exponent);
            }
            for (int h = begin; h < end; h++) {
                codes[h] = E4m3.fromFloat(Bf16.toFloat(row[h]) * forward);
            }
        }
    }

    /** Returns the UE8M0 byte of a power-of-two scale: its biased exponent. */
    public static byte ue8m0(float scale) {
        return (byte) (Math.getExponent(scale) + 127);
    }

    private static float amax(short[] row, int begin, int end) {
        float amax = SMALLEST_AMAX;
        for (int h = begin; h < end; h++) {
            float magnitude = Math.abs(Bf16.toFloat(row[h]));
            if (magnitude > amax) {
                amax = magnitude;
            }
        }
        return amax;
    }

    private static int ceilLog2(float value) {
        boolean powerOfTwo = (Float.floatToRawIntBits(value) & 0x7fffff) == 0;
        return Math.getExponent(value) + (powerOfTwo ? 0 : 1);
    }
}
