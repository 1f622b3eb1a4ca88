package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class NvshmemVersionTest {
    @ParameterizedTest
    @CsvSource({
        "3, 3, 8, false, false",
        "3, 3, 9, true, false",
        "3, 4, 5, true, false",
        "3, 5, 0, true, true",
        "3, 10, 0, true, true",
        "2, 11, 0, false, false",
        "4, 0, 0, false, true",
    })
    void theWindowAndTheLayout(int major, int minor, int patch, boolean known, boolean device) {
        NvshmemVersion version = new NvshmemVersion(major, minor, patch);
        assertThat(version.known()).isEqualTo(known);
        assertThat(version.initTakesDevice()).isEqualTo(device);
        assertThat(version).hasToString(major + "." + minor + "." + patch);
    }
}
