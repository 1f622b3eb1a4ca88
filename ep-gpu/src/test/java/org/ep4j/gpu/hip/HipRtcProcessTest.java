package org.ep4j.gpu.hip;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.ep4j.EpException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.KernelCache;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class HipRtcProcessTest {
    private static final String KERNEL = "struct Op { int nothing; };\nEP_KERNEL(one, 64) {}\n";
    private static final String NEW = "gfx1250:sramecc+";

    @TempDir
    private Path folder;

    @BeforeEach
    void emulator() {
        EmulatedHip.require();
    }

    private static HipInstallation installation() {
        return HipInstallation.find(System.getenv(), Path.of("/"));
    }

    private HipCompiler compiler(HipRtcProcess apart) {
        return new HipCompiler(installation(), new KernelCache(Optional.of(folder)), apart);
    }

    private static HipRtcProcess apart(Duration deadline, Map<String, String> environment) {
        return new HipRtcProcess(
                installation().compiler(), "7.0", deadline, JavaCommand.of(HipRtcProcess.class), environment);
    }

    /** It would not live long enough for anything. */
    private static HipRtcProcess none() {
        return new HipRtcProcess(
                installation().compiler(), "7.0", Duration.ofSeconds(1), List.of("/nowhere/java"), Map.of());
    }

    private static long leftovers() throws java.io.IOException {
        try (Stream<Path> all = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            // Other processes may be compiling, too.
            String own = HipRtcProcess.PREFIX + ProcessHandle.current().pid() + "-";
            return all.filter(path -> path.getFileName().toString().startsWith(own))
                    .count();
        }
    }

    @Test
    void knownArchitecturesAreCompiledInThisProcess() {
        assertThat(compiler(none()).compile("one", "", KERNEL, "gfx942:sramecc+:xnack-"))
                .isNotEmpty();
    }

    @Test
    void unknownArchitecturesAreCompiledInAProcessOfTheirOwnAndCached() throws Exception {
        long before = leftovers();
        byte[] code = compiler(apart(HipRtcProcess.DEADLINE, Map.of("HIP_ON_CUDA_KNOWS", "gfx1250")))
                .compile("one", "", KERNEL, NEW);
        assertThat(code).isNotEmpty();
        assertThat(leftovers()).isEqualTo(before);
        assertThat(compiler(none()).compile("one", "", KERNEL, NEW)).isEqualTo(code);
    }

    @Test
    void aCompilerThatEndsItsProcessEndsNotThisOne() throws Exception {
        long before = leftovers();
        assertThatThrownBy(
                        () -> compiler(apart(HipRtcProcess.DEADLINE, Map.of())).compile("one", "", KERNEL, NEW))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("HIPRTC 7.0 in " + installation().compiler())
                .hasMessageContaining("to compile for gfx1250")
                .hasMessageContaining("signal 6 (SIGABRT)")
                .hasMessageContaining("munmap_chunk(): invalid pointer")
                .hasMessageContaining("install the first ROCm release that supports gfx1250");
        assertThat(leftovers()).isEqualTo(before);
    }

    @Test
    void aCompilerThatDoesNotAnswerIsEndedAtTheDeadline() {
        Duration deadline = Duration.ofSeconds(3);
        long start = System.nanoTime();
        assertThatThrownBy(() -> compiler(apart(deadline, Map.of("HIP_ON_CUDA_HANGS_FOR", "gfx1250")))
                        .compile("one", "", KERNEL, NEW))
                .isInstanceOfSatisfying(
                        EpTimeoutException.class, e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.INSTALL))
                .hasMessageContaining("gfx1250")
                .hasMessageContaining("did not answer within 3000 ms");
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(deadline);
        Guard.until(
                "the process has ended",
                () -> ProcessHandle.current()
                        .children()
                        .filter(ProcessHandle::isAlive)
                        .noneMatch(
                                child -> child.info().commandLine().orElse("").contains("HipRtcProcess")));
    }

    @Test
    void errorsInTheSourceAreReportedInTheCompilersWords() {
        assertThatThrownBy(() -> compiler(apart(HipRtcProcess.DEADLINE, Map.of("HIP_ON_CUDA_KNOWS", "gfx1250")))
                        .compile("broken", "", "this is no kernel;\n", NEW))
                .isExactlyInstanceOf(EpException.class)
                .hasMessageContaining("HIPRTC 7.0 cannot compile broken")
                .hasMessageContaining("--offload-arch=gfx1250")
                .hasMessageContaining("error");
    }

    @Test
    void aProcessThatCannotBeStartedIsNotTakenForACompilerThatDied() {
        List<String> java = new ArrayList<>(JavaCommand.of(HipRtcProcess.class));
        java.set(java.size() - 1, "org.ep4j.Nothing");
        HipRtcProcess apart =
                new HipRtcProcess(installation().compiler(), "7.0", HipRtcProcess.DEADLINE, java, Map.of());
        assertThatThrownBy(() -> compiler(apart).compile("one", "", KERNEL, NEW))
                .isExactlyInstanceOf(EpException.class)
                .hasMessageContaining("ended with exit status 1")
                .hasMessageContaining("org.ep4j.Nothing");
        assertThatThrownBy(() -> compiler(none()).compile("one", "", KERNEL, NEW))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("/nowhere/java");
    }

    /** Options that would keep a second JVM from starting beside this one. */
    @Test
    void optionsOfThisProcessAreNotForTheOther() {
        Map<String, String> environment =
                Map.of("HIP_ON_CUDA_KNOWS", "gfx1250", "JAVA_TOOL_OPTIONS", "-agentlib:nothing-of-this-name");
        assertThat(compiler(apart(HipRtcProcess.DEADLINE, environment)).compile("one", "", KERNEL, NEW))
                .isNotEmpty();
    }
}
