package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
class NcclValuesTest {
    @ParameterizedTest
    @CsvSource({
        "2.5 GT/s PCIe, 16, 3",
        "8 GT/s, 16, 12",
        "16 GT/s, 16, 24",
        "16.0 GT/s, 16, 24",
        "32.0 GT/s PCIe, 8, 24",
        "32 GT/s PCIe/s, 16, 48",
        "64.0 GT/s PCIe, 16, 96",
        "'', 0, 12",
        "Unknown, 16, 12",
        "999 GT/s, 16, 12",
        "16 GT/s, 99999, 24",
        "16 GT/s, -3, 24"
    })
    void readsEverySpellingOfAPcieRateByItsNumber(String speed, int lanes, double expected) {
        assertThat(NcclValues.pcieRate(speed, lanes)).isEqualTo(expected);
    }
}
