package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each way to {@link Misuse} a buffer. Those that could end the process run in one of their own, so a crash is a failure like others. */
@Timeout(120)
final class MisuseTest {
    private static final long DEADLINE_SECONDS = 90;

    @TempDir
    private Path folder;

    @ParameterizedTest(name = "{0}")
    @EnumSource
    void endsWithAPreciseExceptionOrARightResult(Misuse misuse) throws IOException, InterruptedException {
        if (!misuse.mayCrash()) {
            misuse.run();
            return;
        }
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:ErrorFile=" + folder.resolve("crash.log"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Misuse.class.getName(),
                        misuse.name()))
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            boolean ended = process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS);
            String text = Files.readString(output, StandardCharsets.UTF_8);
            assertThat(ended).as("it ended; " + text).isTrue();
            assertThat(process.exitValue()).as(text).isZero();
            assertThat(text).contains("stood " + misuse);
        } finally {
            process.destroyForcibly();
        }
    }
}
