package org.ep4j.transport.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.bytedeco.javacpp.Loader;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
class UnpackedLibraryTest {
    private static final FileTime TIME = FileTime.fromMillis(1_000_000_000_000L);
    private static final int BYTES = 1 << 18;

    private static byte[] build(int value) {
        byte[] bytes = new byte[BYTES];
        Arrays.fill(bytes, (byte) value);
        return bytes;
    }

    @Test
    void ranksThatStartAtOnceNeverMissTheFile(@TempDir Path folder) throws Exception {
        Path kept = folder.resolve("kept.so");
        Files.write(kept, build(1));
        int ranks = 4;
        int rounds = 40;
        ExecutorService pool = Executors.newFixedThreadPool(ranks);
        CyclicBarrier round = new CyclicBarrier(ranks);
        try {
            List<Future<?>> all = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                all.add(pool.submit(() -> {
                    for (int i = 2; i < rounds + 2; i++) {
                        // The first one writes: all have one content.
                        Path jar =
                                folder.resolve("jar-" + Thread.currentThread().getId() + ".so");
                        byte[] built = build(i);
                        Files.write(jar, built);
                        URL url = jar.toUri().toURL();
                        round.await(Guard.minute().toSeconds(), TimeUnit.SECONDS);
                        UnpackedLibrary.renew(url, kept);
                        assertThat(Files.readAllBytes(kept)).isEqualTo(built);
                        round.await(Guard.minute().toSeconds(), TimeUnit.SECONDS);
                    }
                    return null;
                }));
            }
            for (Future<?> one : all) {
                one.get(Guard.minutes(5).toSeconds(), TimeUnit.SECONDS);
            }
        } finally {
            pool.shutdownNow();
        }
        try (var left = Files.list(folder)) {
            assertThat(left.filter(file -> !file.getFileName().toString().startsWith("jar-")))
                    .containsExactly(kept);
        }
    }

    @Test
    void theTimeByWhichJavaCppKnowsTheFileStays(@TempDir Path folder) throws IOException {
        Path kept = Files.write(folder.resolve("kept.so"), build(1));
        Files.setLastModifiedTime(kept, TIME);
        Path jar = Files.write(folder.resolve("jar.so"), build(2));
        UnpackedLibrary.renew(jar.toUri().toURL(), kept);
        assertThat(kept).hasBinaryContent(build(2));
        assertThat(Files.getLastModifiedTime(kept)).isEqualTo(TIME);
    }

    @Test
    void aFileThatIsNotThereIsNamed(@TempDir Path folder) throws IOException {
        URL jar = Files.write(folder.resolve("jar.so"), build(2)).toUri().toURL();
        Path kept = folder.resolve("kept.so");
        assertThatThrownBy(() -> UnpackedLibrary.renew(jar, kept))
                .isInstanceOf(UncheckedIOException.class)
                .hasCauseInstanceOf(NoSuchFileException.class)
                .hasMessageContaining("kept.so");
    }

    private static URL inJar(Path folder, String name, String content) throws IOException {
        Path jar = Files.createDirectories(folder).resolve(name);
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file)) {
            JarEntry entry = new JarEntry("a/lib.so");
            entry.setTime(TIME.toMillis());
            out.putNextEntry(entry);
            out.write(content.getBytes(StandardCharsets.UTF_8));
        }
        return URI.create("jar:" + jar.toUri() + "!/a/lib.so").toURL();
    }

    @Test
    void theLibraryOfAnotherBuildIsNotKept(@TempDir Path folder) throws IOException {
        // JavaCPP has one folder for jars of one name.
        String name = UUID.randomUUID() + ".jar";
        URL before = inJar(folder.resolve("1"), name, "old");
        URL now = inJar(folder.resolve("2"), name, "new");
        File kept = Loader.cacheResource(before);
        try {
            UnpackedLibrary.renew(before);
            assertThat(kept).hasContent("old");
            UnpackedLibrary.renew(now);
            assertThat(kept).hasContent("new");
            assertThat(Loader.cacheResource(now)).isEqualTo(kept).hasContent("new");
        } finally {
            Files.deleteIfExists(kept.toPath());
            Files.deleteIfExists(kept.toPath().getParent());
            Files.deleteIfExists(kept.toPath().getParent().getParent());
        }
    }
}
