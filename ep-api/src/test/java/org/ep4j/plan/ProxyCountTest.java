package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class ProxyCountTest {
    @ParameterizedTest
    @CsvSource({
        "sm_90, 0, 8",
        "sm_90a, 24, 8",
        "sm_90, 6, 6",
        "sm_100, 24, 1",
        "sm_103, 0, 1",
        "sm_120, 0, 1",
        "sm_80, 24, 4",
        "sm_89, 2, 2",
        "gfx942, 48, 4",
        "gfx950, 3, 3",
        "'', 0, 4",
    })
    void followsTheArchitectureAndTheProcessorsOfTheRank(String architecture, int processors, int expected) {
        assertThat(ProxyCount.of(0, architecture, processors)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({"sm_90, 4", "sm_100, 0", "gfx942, 24"})
    void whatTheUserSaysHolds(String architecture, int processors) {
        assertThat(ProxyCount.of(12, architecture, processors)).isEqualTo(12);
    }
}
