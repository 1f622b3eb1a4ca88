package org.ep4j.tck.oracle;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.ep4j.DataType;
import org.ep4j.WireFormat;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class Fp8CastTest {
    private static short[] row(float... values) {
        short[] row = new short[values.length];
        for (int i = 0; i < values.length; i++) {
            row[i] = DataType.toBf16(values[i]);
        }
        return row;
    }

    @Test
    void theLargestMagnitudeOfABlockBecomes448() {
        short[] row = row(new float[256]);
        row[3] = DataType.toBf16(-7f);
        row[130] = DataType.toBf16(0.5f);
        byte[] codes = new byte[256];
        float[] scales = new float[2];
        Fp8Cast.cast(row, WireFormat.FP8, codes, scales);
        assertThat(codes[3]).isEqualTo((byte) 0xfe);
        assertThat(codes[130]).isEqualTo((byte) 0x7e);
        assertThat(scales).containsExactly(7f / 448f, 0.5f / 448f);
    }

    @Test
    void powerOfTwoScalesAreRoundedUp() {
        byte[] codes = new byte[16];
        float[] scales = new float[1];
        for (float largest : new float[] {1e-3f, 0.3f, 1f, 448f, 449f, 896f, 1e5f}) {
            short[] row = row(new float[16]);
            row[0] = DataType.toBf16(largest);
            float amax = DataType.fromBf16(row[0]);
            Fp8Cast.cast(row, WireFormat.FP8_POW2, codes, scales);
            assertThat(Math.scalb(1f, Math.getExponent(scales[0]))).isEqualTo(scales[0]);
            assertThat(scales[0]).isGreaterThanOrEqualTo(amax / 448f).isLessThan(2 * (amax / 448f));
            assertThat(Fp8Cast.ue8m0(scales[0])).isEqualTo((byte) (Float.floatToRawIntBits(scales[0]) >>> 23));
        }
    }

    @Test
    void emptyAndShortBlocksAreScaledAsIfTheyHeldTheSmallestAmax() {
        byte[] codes = new byte[144];
        float[] scales = new float[2];
        Arrays.fill(codes, (byte) 9);
        Fp8Cast.cast(new short[144], WireFormat.FP8, codes, scales);
        assertThat(scales).containsExactly(1e-4f / 448f, 1e-4f / 448f);
        assertThat(codes).containsOnly((byte) 0);
    }

    @Test
    void nansAreIgnoredByTheScaleAndKept() {
        short[] row = row(1f, Float.NaN, -0.5f, 0f);
        byte[] codes = new byte[4];
        float[] scales = new float[1];
        Fp8Cast.cast(row, WireFormat.FP8, codes, scales);
        assertThat(scales[0]).isEqualTo(1f / 448f);
        assertThat(codes[1] & 0x7f).isEqualTo(0x7f);
        assertThat(codes[0]).isEqualTo((byte) 0x7e);
    }
}
