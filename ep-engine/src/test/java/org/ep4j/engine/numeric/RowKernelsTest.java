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
class RowKernelsTest {
    private final RowKernels plain = new PlainRowKernels();

    /** The build asks for the module, so its absence here means that nothing tests these loops. */
    private static RowKernels vector() {
        return RowKernels.vector().orElseThrow();
    }

    private static int[] row(Random random, int pairs) {
        int[] row = new int[pairs];
        for (int i = 0; i < pairs; i++) {
            // Any bits at all: infinities, NaN and subnormals included.
            row[i] = random.nextInt();
        }
        return row;
    }

    private static float[] sums(Random random, int pairs) {
        float[] sums = new float[pairs];
        for (int i = 0; i < pairs; i++) {
            sums[i] = Float.intBitsToFloat(random.nextInt());
        }
        return sums;
    }

    @Property(tries = 300)
    void vectorAndPlainLoopsGiveTheSameBits(@ForAll long seed, @ForAll @IntRange(min = 1, max = 300) int pairs) {
        Random random = new Random(seed);
        int[] first = row(random, pairs);
        int[] second = row(random, pairs);
        float v = random.nextFloat() * 4 - 2;
        float w = random.nextFloat() * 4 - 2;
        float[] even = sums(random, pairs);
        float[] odd = sums(random, pairs);
        for (int op = 0; op < 5; op++) {
            int[] a = run(plain, op, first, second, v, w, even.clone(), odd.clone());
            int[] b = run(vector(), op, first, second, v, w, even.clone(), odd.clone());
            assertThat(b).as("operation %d", op).isEqualTo(a);
        }
    }

    private static int[] run(
            RowKernels kernels, int op, int[] first, int[] second, float v, float w, float[] even, float[] odd) {
        int[] out = new int[first.length];
        switch (op) {
            case 0 -> kernels.add(first, first.length, even, odd);
            case 1 -> kernels.add(first, second, first.length, even, odd);
            case 2 -> kernels.fma(first, v, first.length, even, odd);
            case 3 -> kernels.fma(first, v, second, w, first.length, even, odd);
            default -> {
                kernels.roundSum(first, second, first.length, out);
                return out;
            }
        }
        kernels.round(even, odd, out.length, out);
        return out;
    }

    @Property(tries = 100)
    void sumsFollowTheOrderOfRows(@ForAll long seed, @ForAll @IntRange(min = 1, max = 5) int rows) {
        Random random = new Random(seed);
        int pairs = 24;
        for (RowKernels kernels : new RowKernels[] {plain, vector()}) {
            float[] even = new float[pairs];
            float[] odd = new float[pairs];
            float[] expected = new float[2 * pairs];
            for (int r = 0; r < rows; r++) {
                int[] row = new int[pairs];
                for (int i = 0; i < pairs; i++) {
                    short low = DataType.toBf16((float) random.nextGaussian());
                    short high = DataType.toBf16((float) random.nextGaussian());
                    row[i] = (low & 0xffff) | high << 16;
                    expected[2 * i] += DataType.fromBf16(low);
                    expected[2 * i + 1] += DataType.fromBf16(high);
                }
                kernels.add(row, pairs, even, odd);
            }
            for (int i = 0; i < pairs; i++) {
                assertThat(even[i]).isEqualTo(expected[2 * i]);
                assertThat(odd[i]).isEqualTo(expected[2 * i + 1]);
            }
        }
    }

    @Test
    void everyE4m3ValueCodesToItself() {
        for (int code = 0; code < 256; code++) {
            if ((code & 0x7f) != 0x7f) {
                assertThat(PlainRowKernels.encode(decode(code))).isEqualTo(code);
            }
        }
    }

    @Test
    void e4m3RoundsToTheNearestWithTiesToEven() {
        for (int code = 0; code < 0x7e; code++) {
            float low = decode(code);
            float high = decode(code + 1);
            float middle = (low + high) / 2;
            int even = (code & 1) == 0 ? code : code + 1;
            assertThat(PlainRowKernels.encode(middle))
                    .as("middle above %d", code)
                    .isEqualTo(even);
            assertThat(PlainRowKernels.encode(Math.nextDown(middle))).isEqualTo(code);
            assertThat(PlainRowKernels.encode(Math.nextUp(middle))).isEqualTo(code + 1);
            assertThat(PlainRowKernels.encode(-middle)).isEqualTo(even | 0x80);
        }
    }

    @Test
    void e4m3SaturatesAndKeepsNaN() {
        assertThat(PlainRowKernels.encode(1e30f)).isEqualTo(0x7e);
        assertThat(PlainRowKernels.encode(Float.NEGATIVE_INFINITY)).isEqualTo(0xfe);
        assertThat(PlainRowKernels.encode(Float.NaN) & 0x7f).isEqualTo(0x7f);
    }

    @Property(tries = 200)
    void vectorAndPlainCastsAgree(@ForAll long seed, @ForAll @IntRange(min = 1, max = 200) int pairs) {
        Random random = new Random(seed);
        int[] row = row(random, pairs);
        float[] scales = sums(random, (pairs + 63) / 64);
        for (int i = 0; i < scales.length; i++) {
            scales[i] = (float) Math.exp(random.nextGaussian() * 20);
        }
        int[] a = new int[pairs];
        int[] b = new int[pairs];
        plain.encode(row, scales, 64, a);
        vector().encode(row, scales, 64, b);
        assertThat(b).isEqualTo(a);
    }

    private static float decode(int code) {
        int exponent = (code >> 3) & 15;
        int mantissa = code & 7;
        float magnitude = exponent == 0 ? mantissa * 0x1p-9f : Math.scalb(1 + mantissa / 8f, exponent - 7);
        return (code & 0x80) != 0 ? -magnitude : magnitude;
    }
}
