package org.ep4j.tck.oracle;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class Bf16Test {
    @Test
    void everyValueComesBackFromItsFloatExceptThatEveryNanBecomesTheSame() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            short value = (short) bits;
            float wide = Bf16.toFloat(value);
            short expected = Float.isNaN(wide) ? 0x7fff : value;
            assertThat(Bf16.fromFloat(wide)).as("bits 0x%04x", bits).isEqualTo(expected);
        }
    }

    @Test
    void roundsToTheNearestValueAndTiesToEven() {
        for (int bits = 0; bits < 0x7f80; bits++) {
            float low = Float.intBitsToFloat(bits << 16);
            int even = (bits & 1) == 0 ? bits : bits + 1;
            assertThat(Bf16.fromFloat(Float.intBitsToFloat(bits << 16 | 0x7fff)))
                    .isEqualTo((short) bits);
            assertThat(Bf16.fromFloat(Float.intBitsToFloat(bits << 16 | 0x8000)))
                    .isEqualTo((short) even);
            assertThat(Bf16.fromFloat(Float.intBitsToFloat(bits << 16 | 0x8001)))
                    .isEqualTo((short) (bits + 1));
            assertThat(Bf16.fromFloat(-low)).isEqualTo((short) (bits | 0x8000));
        }
    }

    @Test
    void knownValues() {
        assertThat(Bf16.fromFloat(1f)).isEqualTo((short) 0x3f80);
        assertThat(Bf16.fromFloat(-2.5f)).isEqualTo((short) 0xc020);
        assertThat(Bf16.fromFloat(Float.MAX_VALUE)).isEqualTo((short) 0x7f80);
        assertThat(Bf16.fromFloat(Float.intBitsToFloat(0x7f800001))).isEqualTo((short) 0x7fff);
    }
}
