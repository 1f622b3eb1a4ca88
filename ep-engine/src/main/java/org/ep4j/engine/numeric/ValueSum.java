package org.ep4j.engine.numeric;

import java.util.Arrays;
import org.ep4j.DataType;
import org.ep4j.transport.memory.HostMemory;

/** Sums rows that were decoded to FP32, and rounds the sum to BF16 once. One thread at a time. */
public final class ValueSum {
    private final float[] sum;
    private final int[] packed;

    /** For rows of {@code hidden} channels, an even number. */
    public ValueSum(int hidden) {
        sum = new float[hidden];
        packed = new int[hidden / 2];
    }

    /** Starts a new sum at +0. */
    public void clear() {
        Arrays.fill(sum, 0f);
    }

    public void add(float[] values) {
        for (int i = 0; i < sum.length; i++) {
            sum[i] += values[i];
        }
    }

    /** Adds {@code weight * values} by fused multiply-add. */
    public void add(float[] values, float weight) {
        for (int i = 0; i < sum.length; i++) {
            sum[i] = Math.fma(weight, values[i], sum[i]);
        }
    }

    /** Rounds the sum and writes it as a BF16 row. */
    public void store(HostMemory memory, long offset) {
        for (int i = 0; i < packed.length; i++) {
            packed[i] = (DataType.toBf16(sum[2 * i]) & 0xffff) | DataType.toBf16(sum[2 * i + 1]) << 16;
        }
        memory.putInts(offset, packed, 0, packed.length);
    }
}
