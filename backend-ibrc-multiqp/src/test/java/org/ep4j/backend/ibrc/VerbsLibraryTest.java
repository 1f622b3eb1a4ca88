package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.bytedeco.javacpp.Loader;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
class VerbsLibraryTest {
    private static final long TIME = 1_000_000_000_000L;

    private static URL library(Path folder, String name, String content) throws IOException {
        Path jar = Files.createDirectories(folder).resolve(name);
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file)) {
            JarEntry entry = new JarEntry("a/lib.so");
            entry.setTime(TIME);
            out.putNextEntry(entry);
            out.write(content.getBytes(StandardCharsets.UTF_8));
        }
        return URI.create("jar:" + jar.toUri() + "!/a/lib.so").toURL();
    }

    @Test
    void theLibraryOfAnotherBuildIsNotKept(@TempDir Path folder) throws IOException {
        // JavaCPP has one folder for jars of one name.
        String name = UUID.randomUUID() + ".jar";
        URL before = library(folder.resolve("1"), name, "old");
        URL now = library(folder.resolve("2"), name, "new");
        File kept = Loader.cacheResource(before);
        try {
            VerbsLibrary.renew(before);
            assertThat(kept).hasContent("old");
            VerbsLibrary.renew(now);
            assertThat(kept).hasContent("new");
            assertThat(Loader.cacheResource(now)).isEqualTo(kept).hasContent("new");
        } finally {
            Files.deleteIfExists(kept.toPath());
            Files.deleteIfExists(kept.toPath().getParent());
            Files.deleteIfExists(kept.toPath().getParent().getParent());
        }
    }
}
