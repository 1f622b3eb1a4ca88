package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class HwlocBitmapTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "0x0000ffff,0xffffffff; 48",
                "0x00000003,,0x80000000; 3",
                "00000000,00000000,0000ffff,ffffffff; 48",
                "0xf...f,0x00000001; 0",
                "0x0; 0",
                "''; 0",
                "no set; 0",
            })
    void countsItsNumbers(String text, int expected) {
        assertThat(new HwlocBitmap(text).size()).isEqualTo(expected);
    }
}
