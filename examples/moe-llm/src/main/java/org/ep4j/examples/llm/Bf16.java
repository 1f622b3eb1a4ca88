package org.ep4j.examples.llm;

import java.nio.IntBuffer;
import org.ep4j.DataType;

/** Two BF16 numbers in an int, the first in the lower half. */
final class Bf16 {
    private Bf16() {}

    static int pair(float first, float second) {
        return (DataType.toBf16(first) & 0xffff) | (DataType.toBf16(second) << 16);
    }

    static float lower(int pair) {
        return DataType.fromBf16((short) pair);
    }

    static float upper(int pair) {
        return DataType.fromBf16((short) (pair >>> 16));
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
