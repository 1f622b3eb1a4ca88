package org.ep4j.tck.oracle;

/** bfloat16 as the upper half of a binary32. */
public final class Bf16 {
    private static final short NAN = 0x7fff;

    private Bf16() {}

    /** The value of a bfloat16; exact. */
    public static float toFloat(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    /** The nearest bfloat16, ties to even; every NaN becomes 0x7fff. */
    public static short fromFloat(float value) {
        int bits = Float.floatToRawIntBits(value);
        if (Float.isNaN(value)) {
            return NAN;
        }
        int upper = bits >>> 16;
        int rest = bits & 0xffff;
        boolean up = rest > 0x8000 || (rest == 0x8000 && (upper & 1) == 1);
        return (short) (up ? upper + 1 : upper);
    }

    /** Rounds every element. */
    static void fromFloats(float[] values, short[] out) {
        for (int i = 0; i < values.length; i++) {
            out[i] = fromFloat(values[i]);
        }
    }
}
