package org.ep4j.engine.numeric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.ep4j.DataType;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class LogFmtTest {
    private static float[] roundTrip(int[] row, int hidden) {
        LogFmt logFmt = new LogFmt(hidden);
        int[] ranges = new int[(hidden + 127) / 128];
        byte[] coded = new byte[logFmt.maxBytes()];
        int bytes = logFmt.encode(row, ranges, coded);
        assertThat(bytes).isEqualTo(logFmt.bytes(ranges));
        float[] values = new float[hidden];
        logFmt.decode(ranges, coded, values);
        return values;
    }

    private static int[] pack(float[] values) {
        int[] row = new int[values.length / 2];
        for (int i = 0; i < values.length; i++) {
            row[i / 2] |= (DataType.toBf16(values[i]) & 0xffff) << (16 * (i & 1));
        }
        return row;
    }

    private static float channel(int[] row, int i) {
        return DataType.fromBf16((short) (row[i / 2] >>> (16 * (i & 1))));
    }

    @Property(tries = 100)
    void everyValueIsWithinAStepOfItself(@ForAll long seed, @ForAll @IntRange(min = 1, max = 20) int sixteenths) {
        int hidden = 16 * sixteenths;
        Random random = new Random(seed);
        float[] in = new float[hidden];
        for (int i = 0; i < hidden; i++) {
            in[i] = random.nextInt(10) == 0 ? 0f : (float) (random.nextGaussian() * 0.05);
        }
        int[] row = pack(in);
        float[] out = roundTrip(row, hidden);
        for (int b = 0; b < hidden; b += 128) {
            int end = Math.min(hidden, b + 128);
            double most = 0;
            double least = Double.MAX_VALUE;
            for (int i = b; i < end; i++) {
                most = Math.max(most, Math.abs(channel(row, i)));
                least = Math.min(least, Math.abs(channel(row, i)));
            }
            double step = Math.pow(2, (log2(most) - Math.max(log2(least), log2(most) - 32)) / 510);
            for (int i = b; i < end; i++) {
                float value = channel(row, i);
                assertThat((double) out[i])
                        .as("channel %d of %s", i, value)
                        .isBetween(
                                Math.min(value * step, value / step) - most * Math.pow(2, -31),
                                Math.max(value * step, value / step) + most * Math.pow(2, -31));
            }
        }
    }

    private static double log2(double x) {
        return Math.log(x) / Math.log(2);
    }

    @Test
    void largeAndConstantBlocksGoUnchanged() {
        float[] in = new float[256];
        for (int i = 0; i < 256; i++) {
            in[i] = i < 128 ? i - 64 : 0.25f;
        }
        float[] out = roundTrip(pack(in), 256);
        assertThat(out).containsExactly(in);
    }

    @Test
    void aCodedRowTakesTenBitsAChannel() {
        Random random = new Random(3);
        float[] in = new float[7168];
        for (int i = 0; i < in.length; i++) {
            in[i] = random.nextFloat() * 0.5f + 0.01f;
        }
        LogFmt logFmt = new LogFmt(in.length);
        assertThat(logFmt.encode(pack(in), new int[56], new byte[logFmt.maxBytes()]))
                .isEqualTo(7168 * 10 / 8);
    }
}
