package org.ep4j.tck.oracle;

/** FP8 E4M3 "fn": exponent bias 7, no infinities, {@code 0x7f} and {@code 0xff} are NaN, largest magnitude 448. */
public final class E4m3 {
    private static final int MIN_EXPONENT = -6;
    private static final double MAX = 448;

    private E4m3() {}

    /** Returns the nearest code, ties to even; magnitudes above 448 become 448, NaN becomes {@code sign | 0x7f}. */
    public static byte fromFloat(float value) {
        int sign = Float.floatToRawIntBits(value) >>> 31 << 7;
        if (Float.isNaN(value)) {
            return (byte) (sign | 0x7f);
        }
        double magnitude = Math.min(Math.abs((double) value), MAX);
        int exponent = Math.max(Math.getExponent(magnitude), MIN_EXPONENT);
        // In units of the last place the value is at most 16, and exact in a double.
        int units = (int) Math.rint(Math.scalb(magnitude, 3 - exponent));
        return (byte) (sign | (((exponent + 7) << 3) + units - 8));
    }
}
