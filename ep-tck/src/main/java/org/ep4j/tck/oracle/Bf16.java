package org.ep4j.tck.oracle;

/** Conversions of BF16. The oracle does not use those of {@link org.ep4j.DataType}, since engines may. */
public final class Bf16 {
    private Bf16() {}

    /** Returns the exact value of a BF16. */
    public static float toFloat(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    /** Returns the nearest BF16, ties to even; every NaN becomes 0x7fff. */
    public static short fromFloat(float value) {
        if (Float.isNaN(value)) {
            return 0x7fff;
        }
        int bits = Float.floatToRawIntBits(value);
        int upper = bits >>> 16;
        int rest = bits & 0xffff;
        boolean up = rest > 0x8000 || (rest == 0x8000 && (upper & 1) == 1);
        return (short) (up ? upper + 1 : upper);
    }
}
