package org.ep4j.topology.read;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Files as {@code /sys} and {@code /proc} hold them: of the running machine, or of a recording. Paths are absolute inside
 * the tree and begin with a slash. Nothing throws: a file that is missing or unreadable is empty.
 */
public interface FileTree {
    /** Content of a file of up to 1 MiB, without white space at its ends. */
    Optional<String> text(String path);

    /** Names in a folder, sorted; empty when there is none. */
    List<String> list(String path);

    /** Path with all links resolved, absolute inside the tree. */
    Optional<String> real(String path);

    /** True when there is such a file or folder. */
    default boolean exists(String path) {
        return real(path).isPresent();
    }

    /** Below a folder: {@code /} for the running machine. */
    static FileTree of(Path root) {
        return new FolderTree(root);
    }

    /** A folder of the file system. Links that lead out of it are missing. */
    record FolderTree(Path root) implements FileTree {
        private static final int LIMIT = 1 << 20;

        @Override
        public Optional<String> text(String path) {
            return real(path).flatMap(inside -> {
                try (var in = Files.newInputStream(below(inside))) {
                    return Optional.of(new String(in.readNBytes(LIMIT), StandardCharsets.ISO_8859_1).strip());
                } catch (IOException e) {
                    return Optional.empty();
                }
            });
        }

        @Override
        public List<String> list(String path) {
            Optional<String> inside = real(path);
            if (inside.isEmpty()) {
                return List.of();
            }
            try (Stream<Path> entries = Files.list(below(inside.get()))) {
                return entries.map(entry -> entry.getFileName().toString())
                        .sorted()
                        .toList();
            } catch (IOException e) {
                return List.of();
            }
        }

        @Override
        public Optional<String> real(String path) {
            try {
                Path top = root.toRealPath();
                Path found = below(path).toRealPath();
                return found.startsWith(top) ? Optional.of("/" + top.relativize(found)) : Optional.empty();
            } catch (IOException | InvalidPathException e) {
                return Optional.empty();
            }
        }

        private Path below(String path) {
            String relative = path.startsWith("/") ? path.substring(1) : path;
            return root.resolve(relative);
        }
    }
}
