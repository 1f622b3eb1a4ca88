package org.ep4j.engine.numeric;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class Bf16Test {
    @Test
    void everyNumberSurvivesTheRoundTripAndEveryNanBecomesOne() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            float value = Bf16.toFloat(bits);
            int expected = Float.isNaN(value) ? 0x7fff : bits;
            assertThat(Bf16.fromFloat(value)).isEqualTo(expected);
        }
    }

    @Test
    void roundsToTheNearestWithTiesToEven() {
        Random random = new Random(1);
        for (int i = 0; i < 200_000; i++) {
            float value = Float.intBitsToFloat(random.nextInt());
            if (Float.isNaN(value) || Math.abs(value) > Bf16.toFloat(0x7f7f)) {
                continue;
            }
            int down = Float.floatToRawIntBits(value) >>> 16;
            int up = down + 1;
            BigDecimal exact = new BigDecimal(value).abs();
            int order = exact.subtract(magnitude(down)).compareTo(magnitude(up).subtract(exact));
            int expected = order < 0 ? down : order > 0 ? up : (down & 1) == 0 ? down : up;
            assertThat(Bf16.fromFloat(value)).as("%s", value).isEqualTo(expected);
        }
    }

    private static BigDecimal magnitude(int bits) {
        float value = Math.abs(Bf16.toFloat(bits));
        return Float.isInfinite(value)
                ? new BigDecimal("340282366920938463463374607431768211456")
                : new BigDecimal(value);
    }

    @Test
    void valuesAboveTheLargestBecomeInfinite() {
        assertThat(Bf16.fromFloat(Float.MAX_VALUE)).isEqualTo(0x7f80);
        assertThat(Bf16.fromFloat(-Float.MAX_VALUE)).isEqualTo(0xff80);
    }
}
