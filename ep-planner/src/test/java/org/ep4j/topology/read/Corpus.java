package org.ep4j.topology.read;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Files of real machines beside the sources, with worked-out answers. They are not part of this project. */
public final class Corpus {
    private static final List<Path> PLACES =
            List.of(Path.of("../../shared/topologies"), Path.of("../shared/topologies"));

    private Corpus() {}

    static Optional<Path> folder() {
        return PLACES.stream().filter(Files::isDirectory).findFirst();
    }

    /** The folder; the test is skipped with the reason when it is not there. */
    public static Path required() {
        Optional<Path> folder = folder();
        if (folder.isEmpty()) {
            System.out.println("Skipped: no folder " + PLACES + " with files of real machines");
        }
        assumeTrue(folder.isPresent(), "no folder " + PLACES + " with files of real machines");
        return folder.orElseThrow();
    }

    /** Files of a kind such as {@code nccl-xml}, sorted; empty when the folder is not there. */
    static List<Path> files(String kind) {
        Optional<Path> folder = folder().map(path -> path.resolve(kind));
        if (folder.isEmpty() || !Files.isDirectory(folder.get())) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder.get())) {
            return files.sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
