package org.ep4j.gpu.hip;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Optional;
import org.ep4j.gpu.hip.HipInstallation.HipVersion;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class HipArchitectureTest {
    @ParameterizedTest
    @CsvSource({
        "gfx90a:sramecc+:xnack-, 5.7",
        "gfx90a, 7.2",
        "gfx942:sramecc+:xnack-, 5.7",
        "gfx942, 6.0",
        "gfx950:sramecc+:xnack-, 7.0",
        "gfx950, 8.1"
    })
    void compilersAreAskedHereForWhatTheyKnow(String name, String version) {
        Optional<HipVersion> compiler = HipVersion.of(Path.of("libhiprtc.so." + version));
        assertThat(HipArchitecture.isKnown(name, compiler)).isTrue();
        assertThat(HipArchitecture.target(name)).isEqualTo(name.split(":", -1)[0]);
        assertThat(HipArchitecture.isKnown(name, Optional.empty())).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"gfx950, 6.4, 7.0", "gfx950, 5.7, 7.0", "gfx942, 5.2, 5.7", "gfx90a, 5.6, 5.7"})
    void compilersAreNotAskedHereForWhatEndsTheProcess(String name, String version, String needed) {
        assertThat(HipArchitecture.isKnown(name, HipVersion.of(Path.of("libhiprtc.so." + version))))
                .isFalse();
        assertThat(HipArchitecture.remedy(name)).contains("install ROCm " + needed);
    }

    @ParameterizedTest
    @ValueSource(strings = {"gfx906", "gfx9420", "gfx94", "gfx1100", "sm_90", ""})
    void noCompilerIsAskedHereForOtherArchitectures(String name) {
        assertThat(HipArchitecture.isKnown(name, Optional.of(new HipVersion(99, 0))))
                .isFalse();
        assertThat(HipArchitecture.remedy(name)).contains("ROCm release that supports " + name);
    }

    @Test
    void versionsAreReadFromNumbersAndNames() {
        assertThat(HipVersion.of(50_700_000 + 31_921)).isEqualTo(new HipVersion(5, 7));
        assertThat(HipVersion.of(60_443_484)).isEqualTo(new HipVersion(6, 4));
        assertThat(HipVersion.of(Path.of("/x/libhiprtc.so.6.4.60402"))).contains(new HipVersion(6, 4));
        assertThat(HipVersion.of(Path.of("/x/libamdhip64.so.7"))).contains(new HipVersion(7, 0));
        assertThat(HipVersion.of(Path.of("/x.so.5/libhiprtc.so"))).isEmpty();
        assertThat(new HipVersion(5, 10).isAtLeast(new HipVersion(5, 7))).isTrue();
        assertThat(new HipVersion(6, 0).isAtLeast(new HipVersion(6, 1))).isFalse();
    }
}
