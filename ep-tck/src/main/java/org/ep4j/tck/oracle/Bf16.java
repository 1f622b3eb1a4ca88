package org.ep4j.tck.oracle;

/** BF16 of the kit alone: engines may use the conversions of {@link org.ep4j.DataType}, so the oracle does not. */
public final class Bf16 {
    private Bf16() {}

    /** The value of a BF16; exact. */
    public static float toFloat(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    /** The nearest BF16, ties to even; every NaN becomes 0x7fff. */
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
