package org.ep4j.tck.oracle;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.DataType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class Bf16Test {
    @Test
    void agreesWithTheConversionsOfTheApi() {
        for (int upper = 0; upper < 1 << 16; upper++) {
            for (int rest : new int[] {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff}) {
                float value = Float.intBitsToFloat(upper << 16 | rest);
                assertThat(Bf16.fromFloat(value)).isEqualTo(DataType.toBf16(value));
            }
            float value = Bf16.toFloat((short) upper);
            assertThat(Float.compare(value, DataType.fromBf16((short) upper))).isZero();
        }
    }
}
