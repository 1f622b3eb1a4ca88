package org.ep4j.gpu.hip;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.hip.HipInstallation.HipVersion;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where ROCm puts its libraries, as its packages and Debian's do. */
@Tag("verify")
final class HipInstallationTest {
    @TempDir
    Path root;

    private void library(String folder, String name, String version) throws IOException {
        Path path = Files.createDirectories(root.resolve(folder));
        Files.createFile(path.resolve(name + ".so." + version));
        Files.createSymbolicLink(
                path.resolve(name + ".so." + version.split("\\.", -1)[0]), Path.of(name + ".so." + version));
    }

    private HipInstallation find(Map<String, String> environment) {
        return HipInstallation.find(environment, root);
    }

    @Test
    void rocm5HasTheCompilerInTheRuntime() throws IOException {
        library("usr/lib/x86_64-linux-gnu", "libamdhip64", "5.7.31921");
        HipInstallation found = find(Map.of());
        assertThat(found.runtime()).isEqualTo(root.resolve("usr/lib/x86_64-linux-gnu/libamdhip64.so.5"));
        assertThat(found.compiler()).isEqualTo(found.runtime());
        assertThat(found.compilerVersion()).contains(new HipVersion(5, 7));
    }

    @Test
    void rocm6HasTheCompilerBesideTheRuntime() throws IOException {
        library("opt/rocm-6.4.2/lib", "libamdhip64", "6.4.60402");
        library("opt/rocm-6.4.2/lib", "libhiprtc", "6.4.60402");
        HipInstallation found = find(Map.of());
        assertThat(found.compiler()).isEqualTo(root.resolve("opt/rocm-6.4.2/lib/libhiprtc.so.6"));
        assertThat(found.compilerVersion()).contains(new HipVersion(6, 4));
    }

    @Test
    void theNewestOfSeveralIsTakenByNumberUnlessOneIsTheSystems() throws IOException {
        library("opt/rocm-6.9.0/lib", "libamdhip64", "6.9.1");
        library("opt/rocm-6.10.0/lib", "libamdhip64", "6.10.1");
        library("usr/lib64", "libamdhip64", "7.0.1");
        assertThat(find(Map.of()).runtime()).isEqualTo(root.resolve("opt/rocm-6.10.0/lib/libamdhip64.so.6"));
        Files.createSymbolicLink(root.resolve("opt/rocm"), Path.of("rocm-6.9.0"));
        assertThat(find(Map.of()).runtime()).isEqualTo(root.resolve("opt/rocm/lib/libamdhip64.so.6"));
    }

    @Test
    void theEnvironmentNamesOne() throws IOException {
        library("opt/rocm/lib", "libamdhip64", "6.4.1");
        library("other/lib", "libamdhip64", "7.0.1");
        Path other = root.resolve("other/lib/libamdhip64.so.7");
        assertThat(find(Map.of("ROCM_PATH", "/other")).runtime()).isEqualTo(other);
        assertThat(find(Map.of("LD_LIBRARY_PATH", "relative:/other/lib")).runtime())
                .isEqualTo(other);
        assertThat(find(Map.of(HipInstallation.VARIABLE, other.toString())).runtime())
                .isEqualTo(other);
        assertThat(find(Map.of(
                                HipInstallation.VARIABLE,
                                root.resolve("other/lib").toString()))
                        .runtime())
                .isEqualTo(other);
    }

    @Test
    void aCompilerOfAnotherRocmIsNotTaken() throws IOException {
        library("lib", "libamdhip64", "5.7.1");
        library("lib", "libhiprtc", "6.4.1");
        HipInstallation found =
                find(Map.of(HipInstallation.VARIABLE, root.resolve("lib").toString()));
        assertThat(found.runtime()).isEqualTo(root.resolve("lib/libamdhip64.so.5"));
        assertThat(found.compiler()).isEqualTo(found.runtime());
    }

    @Test
    void missingPartsAreNamedWithTheRemedy() {
        assertThatThrownBy(() -> find(Map.of()))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("libamdhip64.so was not found")
                .hasMessageContaining("opt/rocm/lib")
                .hasMessageContaining("install ROCm 5.7");
        assertThatThrownBy(() -> find(Map.of(HipInstallation.VARIABLE, "/nowhere")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("EP_HIP_RUNTIME is /nowhere");
        assertThatThrownBy(() -> HipRuntime.load(Map.of(HipInstallation.VARIABLE, "/etc/passwd")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("/etc/passwd cannot be loaded");
    }
}
