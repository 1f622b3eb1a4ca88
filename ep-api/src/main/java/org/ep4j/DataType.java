package org.ep4j;

/** Element type of a {@link Tensor}, with the size of one element in bytes. */
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

    /** Size of one element in bytes. */
    public int bytes() {
        return bytes;
    }
}
