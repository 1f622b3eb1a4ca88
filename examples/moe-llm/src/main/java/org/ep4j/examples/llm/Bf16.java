package org.ep4j.examples.llm;

import java.nio.IntBuffer;

/** The upper half of an FP32 number; two of them in an int, the first in the lower half. */
final class Bf16 {
    private Bf16() {}

    /** Rounds to nearest, ties to even. */
    static int bits(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
    }

    static int pair(float first, float second) {
        return (bits(first) & 0xffff) | (bits(second) << 16);
    }

    static float lower(int pair) {
        return Float.intBitsToFloat(pair << 16);
    }

    static float upper(int pair) {
        return Float.intBitsToFloat(pair & 0xffff0000);
    }

    /** Rounds {@code count} elements, from an even index on, into the memory of a tensor. */
    static void write(float[] values, int from, int count, IntBuffer target, int at) {
        int[] pairs = new int[count / 2];
        for (int i = 0; i < pairs.length; i++) {
            pairs[i] = pair(values[from + 2 * i], values[from + 2 * i + 1]);
        }
        target.put(at, pairs);
    }

    static void read(IntBuffer source, int at, int count, float[] target, int to) {
        int[] pairs = new int[count / 2];
        source.get(at, pairs);
        for (int i = 0; i < pairs.length; i++) {
            target[to + 2 * i] = lower(pairs[i]);
            target[to + 2 * i + 1] = upper(pairs[i]);
        }
    }
}
