package org.ep4j.examples.llm;

import java.nio.ByteBuffer;

/**
 * A matrix of BF16 weights.
 *
 * @param rows its rows
 * @param columns its columns, an even number
 * @param pairs row by row, two elements in each int, the first in the lower half
 */
@SuppressWarnings("ArrayRecordComponent") // not compared, and not copied: these are large
record Matrix(int rows, int columns, int[] pairs) {
    /** Copies the bytes of a tensor. */
    static Matrix of(int rows, int columns, ByteBuffer bytes) {
        int[] pairs = new int[rows * (columns / 2)];
        bytes.asIntBuffer().get(pairs);
        return new Matrix(rows, columns, pairs);
    }

    /** The first row as FP32. */
    float[] vector() {
        float[] values = new float[columns];
        row(0, values, 0);
        return values;
    }

    /** One row as FP32. */
    void row(int index, float[] target, int at) {
        int start = index * (columns / 2);
        for (int i = 0; i < columns / 2; i++) {
            target[at + 2 * i] = Bf16.lower(pairs[start + i]);
            target[at + 2 * i + 1] = Bf16.upper(pairs[start + i]);
        }
    }
}
