package org.ep4j.tck.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class ProcessResourcesTest {
    @TempDir
    private Path folder;

    @Test
    void namesADescriptorThatStaysOpen() throws Exception {
        Path file = Files.writeString(folder.resolve("kept"), "x");
        ProcessResources before = ProcessResources.now();
        assertThat(before.grown(Duration.ZERO)).doesNotContain("kept");
        try (InputStream kept = Files.newInputStream(file)) {
            assertThat(before.grown(Duration.ZERO)).contains("descriptor of ").contains("/kept: 0 before, 1 after");
            assertThat(kept.read()).isEqualTo('x');
        }
        assertThat(before.grown(Duration.ZERO)).doesNotContain("kept");
    }

    @Test
    void namesAMappingThatStays() throws Exception {
        Path file = Files.writeString(folder.resolve("mapped"), "x");
        ProcessResources before = ProcessResources.now();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            var mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, 1);
            assertThat(before.grown(Duration.ZERO)).contains("mapping of ").contains("/mapped: 0 before, 1 after");
            assertThat(mapped.get(0)).isEqualTo((byte) 'x');
        }
    }

    @Test
    void waitsForThreadsThatAreAboutToEnd() throws Exception {
        ProcessResources before = ProcessResources.now();
        CountDownLatch end = new CountDownLatch(1);
        Thread thread = new Thread(
                () -> {
                    try {
                        end.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "resource-17");
        thread.start();
        assertThat(before.grown(Duration.ZERO)).contains("thread resource-#: 0 before, 1 after");
        end.countDown();
        assertThat(before.grown(Duration.ofMinutes(1))).doesNotContain("resource-#");
        thread.join();
    }
}
