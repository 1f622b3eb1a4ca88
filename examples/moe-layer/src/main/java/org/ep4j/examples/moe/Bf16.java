package org.ep4j.examples.moe;

/** The upper half of an FP32 number. */
final class Bf16 {
    private Bf16() {}

    static float toFloat(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    /** Rounded to nearest, ties to even. */
    static short of(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (short) ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16);
    }
}
