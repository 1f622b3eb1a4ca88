package org.ep4j.gpu.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.ep4j.EpUnavailableException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class NvrtcInstallationTest {
    private static final int DRIVER = 13_000;

    @TempDir
    Path root;

    private Path install(String folder, int major, int minor) throws IOException {
        Path made = Files.createDirectories(root.resolve(folder));
        Files.createFile(made.resolve("libnvrtc.so." + major));
        Files.createFile(made.resolve("libnvrtc-builtins.so." + major + "." + minor));
        return made;
    }

    private NvrtcInstallation find(Map<String, String> environment) {
        return NvrtcInstallation.find(environment, root, DRIVER);
    }

    @Test
    void theToolkitIsFound() throws IOException {
        Path folder = install("usr/local/cuda-12.9/targets/x86_64-linux/lib", 12, 9);
        NvrtcInstallation found = find(Map.of());
        assertThat(found.compiler()).isEqualTo(folder.resolve("libnvrtc.so.12"));
        assertThat(found.builtins()).isEqualTo(folder.resolve("libnvrtc-builtins.so.12.9"));
        assertThat(found.major()).isEqualTo(12);
        assertThat(found.minor()).isEqualTo(9);
    }

    @Test
    void theToolkitOfTheEnvironmentIsFound() throws IOException {
        Path folder = install("opt/toolkit/lib64", 12, 4);
        assertThat(find(Map.of("CUDA_HOME", "/opt/toolkit")).compiler()).startsWith(folder);
        assertThat(find(Map.of("CUDA_PATH", "/opt/toolkit")).compiler()).startsWith(folder);
        assertThat(find(Map.of("LD_LIBRARY_PATH", "/nowhere::/opt/toolkit/lib64"))
                        .compiler())
                .startsWith(folder);
    }

    @Test
    void thePythonPackageIsFound() throws IOException {
        Path twelve = install("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib", 12, 8);
        assertThat(find(Map.of("VIRTUAL_ENV", "/venv")).compiler()).startsWith(twelve);
        Path thirteen = install("home/.local/lib/python3.12/site-packages/nvidia/cu13/lib", 13, 0);
        assertThat(find(Map.of("VIRTUAL_ENV", "/venv", "HOME", "/home")).compiler())
                .as("the newest")
                .startsWith(thirteen);
    }

    @Test
    void theNewestThatTheDriverSupportsIsChosen() throws IOException {
        install("usr/local/cuda-12.2/lib64", 12, 2);
        Path best = install("usr/local/cuda-12.10/lib64", 12, 10);
        install("usr/lib64", 11, 8);
        install("usr/local/cuda-14.0/lib64", 14, 0);
        assertThat(find(Map.of()).compiler()).startsWith(best);
    }

    @Test
    void theCompilerThatTheUserNamesComesFirst() throws IOException {
        install("usr/local/cuda-13.0/lib64", 13, 0);
        Path named = install("mine", 11, 8);
        assertThat(find(Map.of("EP_NVRTC", named.toString())).compiler()).startsWith(named);
        assertThat(find(Map.of("EP_NVRTC", named.resolve("libnvrtc.so.11").toString()))
                        .compiler())
                .startsWith(named);
    }

    @Test
    void aCompilerWithoutItsBuiltinsIsNone() throws IOException {
        Files.createFile(Files.createDirectories(root.resolve("usr/lib64")).resolve("libnvrtc.so.12"));
        assertThatThrownBy(() -> find(Map.of())).isInstanceOf(EpUnavailableException.class);
    }

    @Test
    void withoutAnyTheErrorNamesTheFoldersAndTheRemedy() {
        assertThatThrownBy(() -> find(Map.of("LD_LIBRARY_PATH", "/some/folder")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("no NVRTC for CUDA 13 or older")
                .hasMessageContaining("/some/folder")
                .hasMessageContaining("nvidia-cuda-nvrtc")
                .hasMessageContaining("EP_NVRTC");
    }

    @Test
    void oneThatIsNewerThanTheDriverIsNamedInTheError() throws IOException {
        install("usr/local/cuda-14.1/lib64", 14, 1);
        assertThatThrownBy(() -> find(Map.of()))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("only CUDA 14, newer than the driver");
    }

    @Test
    void anEmptyFolderThatTheUserNamesIsNamedInTheError() {
        assertThatThrownBy(() -> find(Map.of("EP_NVRTC", root.toString())))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining(root.toString());
    }
}
