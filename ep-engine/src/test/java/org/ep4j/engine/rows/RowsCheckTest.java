package org.ep4j.engine.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program that checks the loops without a JVM, also for the processor that this machine is not. */
@Tag("all")
class RowsCheckTest {
    @TempDir
    private Path folder;

    private static boolean isInstalled(String command) {
        return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
                .anyMatch(path -> Files.isExecutable(Path.of(path, command)));
    }

    /** Skips the test where the command is missing; with {@code EP_REQUIRE_COMPILERS=1} the test fails instead. */
    private static void require(String command, String packages) {
        if (isInstalled(command)) {
            return;
        }
        String text = "no " + command + " in PATH (Debian: apt-get install " + packages + ")";
        assertThat(System.getenv("EP_REQUIRE_COMPILERS")).as(text).isNotEqualTo("1");
        System.out.println("skipped: " + text);
        assumeTrue(false, text);
    }

    private String run(String... command) throws IOException, InterruptedException {
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).as(command[0]).isTrue();
        String text = Files.readString(output);
        assertThat(process.exitValue()).as(text).isZero();
        return text;
    }

    private String compile(String compiler, String... options) throws IOException, InterruptedException {
        String result = folder.resolve("rows_check").toString();
        List<String> command = new ArrayList<>(List.of(compiler));
        command.addAll(List.of(options));
        command.addAll(List.of("-O3", "-ffp-contract=off", "-pthread", "-I", "src/main/native"));
        command.addAll(List.of("src/test/native/rows_check.cpp", "-o", result));
        run(command.toArray(String[]::new));
        return result;
    }

    @Test
    void allVariantsOfThisProcessorGiveTheExpectedRows() throws IOException, InterruptedException {
        require("g++", "g++");
        assertThat(run(compile("g++"))).contains("variants give the expected rows");
    }

    @Test
    void neonGivesTheExpectedRows() throws IOException, InterruptedException {
        require("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu");
        require("qemu-aarch64", "qemu-user");
        // So that the emulator needs no libraries of that processor.
        assertThat(run("qemu-aarch64", compile("aarch64-linux-gnu-g++", "-static")))
                .contains("1 variants give the expected rows");
    }

    /** Without these, whoever sees what is stored later may not see the rows. */
    @Test
    void nonTemporalStoresAreFollowedByAFence() throws IOException, InterruptedException {
        if (System.getProperty("os.arch").equals("amd64")) {
            require("g++", "g++");
            assertThat(Files.readString(Path.of(compile("g++", "-S")))).contains("movntdq", "sfence");
        }
        require("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu");
        assertThat(Files.readString(Path.of(compile("aarch64-linux-gnu-g++", "-S"))))
                .contains("stnp", "dmb");
    }

    /** A call for each channel is slower than the loops of the JVM. */
    @Test
    void neonMultipliesAndAddsInOneInstruction() throws IOException, InterruptedException {
        require("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu");
        String code = Files.readString(Path.of(compile("aarch64-linux-gnu-g++", "-S")));
        assertThat(code).containsPattern("fmla\\s+v\\d+\\.4s");
    }
}
