package org.ep4j.engine.numeric;

/** Constants of FP8 E4M3 "fn", as bits of binary32 values. */
final class E4m3 {
    /** Largest magnitude. */
    static final float MAX = 448f;

    static final int MAX_BITS = Float.floatToRawIntBits(MAX);
    static final int SMALLEST_NORMAL_BITS = Float.floatToRawIntBits(0x1p-6f);

    /** Adding 2^14 to a magnitude below 2^-6 leaves it, rounded to a multiple of 2^-9, in the low bits of the sum. */
    static final float SUBNORMAL_MAGIC = 16384f;

    static final int SUBNORMAL_MAGIC_BITS = Float.floatToRawIntBits(SUBNORMAL_MAGIC);

    /** Difference of the exponent biases, placed above the three mantissa bits. */
    static final int REBIAS = (127 - 7) << 3;

    private E4m3() {}
}
