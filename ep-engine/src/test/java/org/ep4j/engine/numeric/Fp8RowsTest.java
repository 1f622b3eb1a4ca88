package org.ep4j.engine.numeric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;
import org.junit.jupiter.api.Test;

class Fp8RowsTest {
    private static final int HIDDEN = 208;

    private static HostMemory row(float[] values) {
        HostMemory memory =
                HostMemory.of(new HostDevice().allocate(2L * values.length).memory());
        for (int i = 0; i < values.length; i += 2) {
            memory.putInt(2L * i, Bf16.fromFloat(values[i]) | Bf16.fromFloat(values[i + 1]) << 16);
        }
        return memory;
    }

    @Test
    void scalesAreTheLargestMagnitudeOverTheLargestCode() {
        float[] values = new float[HIDDEN];
        Random random = new Random(5);
        for (int i = 0; i < HIDDEN; i++) {
            values[i] = Bf16.toFloat(Bf16.fromFloat((float) random.nextGaussian()));
        }
        values[7] = -30f;
        values[150] = 6f;
        values[3] = Float.NaN;
        float[] scales = new float[2];
        int[] codes = new int[HIDDEN / 4];
        new Fp8Rows(HIDDEN).cast(row(values), 0, false, codes, scales);
        assertThat(scales).containsExactly(30f / 448f, 6f / 448f);
        assertThat(codes[1] >>> 24).isEqualTo(0xfe);
        assertThat(codes[150 / 4] >>> 16 & 0xff).isEqualTo(0x7e);
        assertThat(codes[0] >>> 24 & 0x7f).isEqualTo(0x7f);
    }

    @Test
    void powersOfTwoAreRoundedUp() {
        float[] values = new float[HIDDEN];
        values[0] = 450f;
        values[128] = 448f * 0.25f;
        float[] scales = new float[2];
        new Fp8Rows(HIDDEN).cast(row(values), 0, true, new int[HIDDEN / 4], scales);
        assertThat(scales).containsExactly(2f, 0.25f);
    }

    /** Infinity is the largest magnitude of its block, a NaN is none. */
    @Test
    void aBlockWithInfinityAndNanHasAnInfiniteScale() {
        float[] values = new float[HIDDEN];
        values[0] = Float.POSITIVE_INFINITY;
        values[1] = Float.NEGATIVE_INFINITY;
        values[2] = Float.NaN;
        values[3] = 3f;
        values[128] = 4f;
        float[] scales = new float[2];
        int[] codes = new int[HIDDEN / 4];
        new Fp8Rows(HIDDEN).cast(row(values), 0, false, codes, scales);
        assertThat(scales).containsExactly(Float.POSITIVE_INFINITY, 4f / 448f);
        // Nothing is left of a number that is divided by infinity, and infinity itself has no quotient.
        assertThat(codes[0]).isEqualTo(0x007fff7f);
        assertThat(codes[32]).isEqualTo(0x7e);
        new Fp8Rows(HIDDEN).cast(row(values), 0, true, codes, scales);
        assertThat(scales).containsExactly(Float.POSITIVE_INFINITY, 1 / 64f);
        assertThat(codes[0]).isEqualTo(0x007ffe7e);
        assertThat(codes[32]).isEqualTo(0x78);
    }

    @Test
    void aRowOfZerosHasAFiniteScale() {
        float[] scales = new float[2];
        int[] codes = new int[HIDDEN / 4];
        new Fp8Rows(HIDDEN).cast(row(new float[HIDDEN]), 0, false, codes, scales);
        assertThat(scales).containsExactly(1e-4f / 448f, 1e-4f / 448f);
        assertThat(codes).containsOnly(0);
    }
}
