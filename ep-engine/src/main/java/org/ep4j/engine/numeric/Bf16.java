package org.ep4j.engine.numeric;

/** bfloat16: the upper half of a binary32. */
public final class Bf16 {
    /**
     * Bits of the binary32 that every NaN becomes, since which one comes out of two NaN is the processor's choice. It is what
     * {@code cvt.rn.bf16x2.f32} of NVIDIA GPUs makes of every NaN (PTX ISA, cvt).
     */
    static final int NAN = 0x7fff0000;

    private Bf16() {}

    /** Exact. Only the low 16 bits of {@code bits} count. */
    public static float toFloat(int bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    /** Rounds to nearest even; every NaN becomes 0x7fff. The result is in the low 16 bits. */
    public static int fromFloat(float value) {
        return roundBits(Float.floatToRawIntBits(value)) >>> 16;
    }

    /** Rounds the bits of a binary32 so that its upper half is the BF16 result; the lower half is left undefined. */
    static int roundBits(int bits) {
        // All ones exactly for a NaN; written without a branch so that loops over it vectorise.
        int nan = (0x7f800000 - (bits & 0x7fffffff)) >> 31;
        int rounded = bits + 0x7fff + ((bits >>> 16) & 1);
        return (rounded & ~nan) | (NAN & nan);
    }
}
