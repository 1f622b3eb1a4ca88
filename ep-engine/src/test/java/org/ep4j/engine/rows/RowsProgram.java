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
import org.ep4j.testing.Guard;

/** Programs of native rows without a JVM, whose fences would hide those that are missing in native code. */
final class RowsProgram {
    /** Functions whose instructions contain all of a copy or sum, but the loops. */
    private static final String CALLS = """
            #include "ep4j_rows.h"
            extern "C" void call_copy(const void *list, int count) { ep4j_rows_copy(0, list, count, 1); }
            extern "C" void call_sum(const void *list, int count, long long bytes) { ep4j_rows_sum(0, list, count, bytes, 1); }
            """;

    private final Path folder;
    private final String compiler;

    /**
     * Programs that a compiler makes.
     *
     * @param folder for files
     * @param compiler a command that is in {@code PATH}
     */
    RowsProgram(Path folder, String compiler) {
        this.folder = folder;
        this.compiler = compiler;
    }

    static boolean isInstalled(String command) {
        return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
                .anyMatch(path -> Files.isExecutable(Path.of(path, command)));
    }

    /** Skips the test. */
    static void skip(String reason) {
        System.out.println("skipped: " + reason);
        assumeTrue(false, reason);
    }

    String run(String... command) throws IOException, InterruptedException {
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(process.waitFor(Guard.minutes(5).toSeconds(), TimeUnit.SECONDS))
                    .as(command[0])
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        String text = Files.readString(output);
        assertThat(process.exitValue()).as(text).isZero();
        return text;
    }

    private Path compile(String source, String... options) throws IOException, InterruptedException {
        Path result = folder.resolve("result");
        List<String> command = new ArrayList<>(List.of(compiler));
        command.addAll(List.of(options));
        command.addAll(List.of("-O3", "-ffp-contract=off", "-pthread", "-I", "src/main/native"));
        command.addAll(List.of(source, "-o", result.toString()));
        run(command.toArray(String[]::new));
        return result;
    }

    /** Compiles the program that checks the rows of all variants, and that other threads see them. */
    String check(String... options) throws IOException, InterruptedException {
        return compile("src/test/native/rows_check.cpp", options).toString();
    }

    /** Instructions of all loops, and of functions that copy and sum with non-temporal stores. */
    String instructions() throws IOException, InterruptedException {
        Path source = folder.resolve("calls.cpp");
        Files.writeString(source, CALLS);
        return Files.readString(compile(source.toString(), "-S"));
    }

    /** Instructions of {@code call_copy} or {@code call_sum}. */
    static String instructions(String all, String function) {
        int start = all.indexOf("\n" + function + ":");
        assertThat(start).as(function).isNotNegative();
        return all.substring(start, all.indexOf(".cfi_endproc", start));
    }
}
