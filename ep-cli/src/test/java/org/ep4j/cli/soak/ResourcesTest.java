package org.ep4j.cli.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(OS.LINUX)
final class ResourcesTest {
    @TempDir
    private Path folder;

    @Test
    void anOpenSocketIsFound() throws IOException {
        try (ServerSocket first = new ServerSocket(0)) {
            Resources before = Resources.now();
            assertThat(first.isBound()).isTrue();
            try (ServerSocket second = new ServerSocket(0)) {
                assertThat(second.isBound()).isTrue();
                assertThat(Resources.now().beyond(before))
                        .singleElement()
                        .extracting(Resources.Growth::kind)
                        .asString()
                        .startsWith("fd socket:");
            }
            assertThat(Resources.now().beyond(before)).isEmpty();
        }
    }

    @Test
    void aThreadThatStaysIsFoundByItsName() throws InterruptedException {
        CountDownLatch end = new CountDownLatch(1);
        Resources before = Resources.now();
        Thread thread = new Thread(
                () -> {
                    try {
                        end.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "ep4j-left-behind-17");
        thread.start();
        assertThat(Resources.now().beyond(before)).contains(new Resources.Growth("thread ep4j-left-behind-#", 1, 0));
        end.countDown();
        thread.join();
        assertThat(Resources.now().beyond(before)).noneMatch(more -> more.kind().contains("left-behind"));
    }

    @Test
    void aMappingOfSharedMemoryIsFoundAfterItsFileIsGone() throws IOException {
        Resources before = Resources.now();
        Path file = folder.resolve("ep4j-shared");
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            var mapped = channel.map(MapMode.READ_WRITE, 0, 4096);
            Files.delete(file);
            assertThat(Resources.now().count().mappings())
                    .isEqualTo(before.count().mappings() + 1);
            assertThat(mapped.put(0, (byte) 1).capacity()).isEqualTo(4096);
        }
    }
}
