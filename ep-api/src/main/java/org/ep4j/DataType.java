package org.ep4j;

/**
 * Element type of a {@link Tensor}, with the size of one element in bytes. Constants may be added: keep a {@code default}
 * where you switch over them.
 */
public enum DataType {
    /** bfloat16: 1 sign, 8 exponent and 7 mantissa bits. */
    BF16(2),
    /** 8-bit float E4M3 "fn": 1 sign, 4 exponent and 3 mantissa bits, no infinities, largest magnitude 448. */
    FP8_E4M3(1),
    /**
     * 8-bit float E4M3 "fnuz", which gfx942 (MI300) computes in: no negative zero, no infinities, one NaN (0x80), largest
     * magnitude 240. A byte that is finite in both formats has half the value here that it has as {@link #FP8_E4M3}.
     */
    FP8_E4M3_FNUZ(1),
    /** IEEE 754 binary32. */
    FP32(4),
    /** Power-of-two scale: the biased exponent of a binary32, nothing else. */
    UE8M0(1),
    /** Signed 32-bit integer. */
    INT32(4),
    /** Signed 64-bit integer. */
    INT64(8);

    private final int bytes;

    DataType(int bytes) {
        this.bytes = bytes;
    }

    /** Returns true for 8-bit floats. */
    public boolean isFp8() {
        return this == FP8_E4M3 || this == FP8_E4M3_FNUZ;
    }

    /** Bytes that {@code elements} elements take. */
    public long bytes(long elements) {
        return elements * bytes;
    }

    /**
     * Rounds to the nearest bfloat16, ties to even. Values that round beyond the largest finite one become an infinity, and
     * every NaN becomes 0x7fff, as on NVIDIA GPUs (PTX ISA, {@code cvt.rn.bf16x2.f32}).
     */
    public static short toBf16(float value) {
        int bits = Float.floatToRawIntBits(value);
        // All ones exactly for a NaN; written without a branch so that loops over it vectorise.
        int nan = (0x7f800000 - (bits & 0x7fffffff)) >> 31;
        int rounded = (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
        return (short) ((rounded & ~nan) | (0x7fff & nan));
    }

    /** Returns the value of a bfloat16; exact. */
    public static float fromBf16(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }
}
