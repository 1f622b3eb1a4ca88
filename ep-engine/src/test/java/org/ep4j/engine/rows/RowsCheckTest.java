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

    private static void require(String command, String packages) {
        boolean there = isInstalled(command);
        if (!there) {
            System.out.println("skipped: no " + command + " in PATH (Debian: apt-get install " + packages + ")");
        }
        assumeTrue(there, "no " + command);
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

    private String check(String compiler, String... emulator) throws IOException, InterruptedException {
        String program = folder.resolve("rows_check").toString();
        run(
                compiler,
                "-O3",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-ffp-contract=off",
                "-static",
                "-I",
                "src/main/native",
                "src/test/native/rows_check.cpp",
                "-o",
                program);
        List<String> command = new ArrayList<>(List.of(emulator));
        command.add(program);
        return run(command.toArray(String[]::new));
    }

    @Test
    void allVariantsOfThisProcessorGiveTheExpectedRows() throws IOException, InterruptedException {
        require("g++", "g++");
        assertThat(check("g++")).contains("variants give the expected rows");
    }

    @Test
    void neonGivesTheExpectedRows() throws IOException, InterruptedException {
        require("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu");
        require("qemu-aarch64", "qemu-user");
        assertThat(check("aarch64-linux-gnu-g++", "qemu-aarch64")).contains("1 variants give the expected rows");
    }
}
