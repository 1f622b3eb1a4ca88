package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class DataTypeTest {
    @Test
    void elementSizesAreThoseOfTheFormats() {
        assertThat(Arrays.stream(DataType.values()).mapToLong(type -> type.bytes(1)))
                .containsExactly(2L, 1L, 1L, 4L, 1L, 4L, 8L);
        assertThat(DataType.FP32.bytes(1L << 40)).isEqualTo(1L << 42);
    }

    @Test
    void everyBf16SurvivesTheRoundTripAndEveryNanBecomesOne() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            float value = DataType.fromBf16((short) bits);
            assertThat(Float.floatToRawIntBits(value)).isEqualTo(bits << 16);
            short expected = Float.isNaN(value) ? 0x7fff : (short) bits;
            assertThat(DataType.toBf16(value)).as("bits 0x%04x", bits).isEqualTo(expected);
        }
        assertThat(DataType.toBf16(Float.intBitsToFloat(0x7f800001))).isEqualTo((short) 0x7fff);
        assertThat(DataType.toBf16(Float.intBitsToFloat(-1))).isEqualTo((short) 0x7fff);
    }

    @Test
    void bf16RoundsBesideEveryTieToTheNearestAndOnItToEven() {
        for (int bits = 0; bits < 0x7f80; bits++) {
            for (int sign : new int[] {0, 0x8000}) {
                int wide = (bits | sign) << 16;
                int even = bits + (bits & 1);
                assertThat(DataType.toBf16(Float.intBitsToFloat(wide | 0x7fff))).isEqualTo((short) (bits | sign));
                assertThat(DataType.toBf16(Float.intBitsToFloat(wide | 0x8000))).isEqualTo((short) (even | sign));
                assertThat(DataType.toBf16(Float.intBitsToFloat(wide | 0x8001))).isEqualTo((short) ((bits + 1) | sign));
            }
        }
    }

    @Test
    void bf16RoundsToTheNearestWithTiesToEven() {
        Random random = new Random(1);
        for (int i = 0; i < 200_000; i++) {
            float value = Float.intBitsToFloat(random.nextInt());
            if (Float.isNaN(value) || Math.abs(value) > DataType.fromBf16((short) 0x7f7f)) {
                continue;
            }
            int down = Float.floatToRawIntBits(value) >>> 16;
            int up = down + 1;
            BigDecimal exact = new BigDecimal(value).abs();
            int order = exact.subtract(magnitude(down)).compareTo(magnitude(up).subtract(exact));
            int expected = order < 0 ? down : order > 0 ? up : down + (down & 1);
            assertThat(DataType.toBf16(value)).as("%s", value).isEqualTo((short) expected);
        }
    }

    private static BigDecimal magnitude(int bits) {
        float value = Math.abs(DataType.fromBf16((short) bits));
        return Float.isInfinite(value)
                ? new BigDecimal("340282366920938463463374607431768211456")
                : new BigDecimal(value);
    }

    @Test
    void knownBf16Values() {
        assertThat(DataType.toBf16(1f)).isEqualTo((short) 0x3f80);
        assertThat(DataType.toBf16(-2.5f)).isEqualTo((short) 0xc020);
        assertThat(DataType.toBf16(Float.MAX_VALUE)).isEqualTo((short) 0x7f80);
        assertThat(DataType.toBf16(-Float.MAX_VALUE)).isEqualTo((short) 0xff80);
    }
}
