package org.ep4j.topology.read;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** A folder of the file system. */
final class FolderTree implements FileTree {
    private final Path root;

    /** Links can lead anywhere in the running machine; in a recording they would lead into this machine. */
    private final boolean confined;

    /** Where folders of a recording really are; recordings do not change. */
    private final Map<String, Optional<Path>> folders = new ConcurrentHashMap<>();

    private FolderTree(Path root) {
        this.root = root;
        confined = root.getNameCount() > 0;
    }

    static FolderTree of(Path root) {
        try {
            return new FolderTree(root.toRealPath());
        } catch (IOException e) {
            // Not there: every file of it is missing.
            return new FolderTree(root.toAbsolutePath());
        }
    }

    @Override
    public Optional<String> text(String path) {
        return bytes(path).map(FileTree::stripped);
    }

    @Override
    public Optional<byte[]> bytes(String path) {
        if (!confined) {
            return plain(path).flatMap(FolderTree::read);
        }
        // A recording may hold pipes and devices, which would never end.
        return inside(path).filter(Files::isRegularFile).flatMap(FolderTree::read);
    }

    private static Optional<byte[]> read(Path file) {
        try (var in = Files.newInputStream(file)) {
            return Optional.of(in.readNBytes(Limits.FILE));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    @Override
    public List<String> list(String path) {
        Optional<Path> folder = (confined ? resolved(path) : plain(path)).filter(Files::isDirectory);
        if (folder.isEmpty()) {
            return List.of();
        }
        try (Stream<Path> entries = Files.list(folder.get())) {
            // Sorted first: what is left out beyond the limit is the same on every machine.
            return entries.map(entry -> entry.getFileName().toString())
                    .sorted()
                    .limit(Limits.FOLDER)
                    .toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    @Override
    public Optional<String> real(String path) {
        return resolved(path).map(found -> "/" + root.relativize(found));
    }

    @Override
    public Optional<String> link(String path) {
        int name = path.lastIndexOf('/');
        return resolved(path.substring(0, Math.max(0, name))).flatMap(folder -> {
            try {
                return Optional.of(Files.readSymbolicLink(folder.resolve(path.substring(name + 1)))
                        .toString());
            } catch (IOException | InvalidPathException | UnsupportedOperationException e) {
                return Optional.empty();
            }
        });
    }

    /** A path as it is: nothing leads out of the running machine, and thousands of files are read. */
    private Optional<Path> plain(String path) {
        try {
            return Optional.of(below(path));
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    /** A file of a recording. Most are no links, and then it is enough to know where their folder is. */
    private Optional<Path> inside(String path) {
        int name = path.lastIndexOf('/');
        if (name < 0 || path.endsWith("/..") || path.endsWith("/.")) {
            return resolved(path);
        }
        try {
            return folders.computeIfAbsent(path.substring(0, name), this::resolved)
                    .map(folder -> folder.resolve(path.substring(name + 1)))
                    .flatMap(file -> Files.isSymbolicLink(file) ? resolved(path) : Optional.of(file));
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    private Optional<Path> resolved(String path) {
        try {
            return Optional.of(below(path).toRealPath()).filter(found -> found.startsWith(root));
        } catch (IOException | InvalidPathException e) {
            return Optional.empty();
        }
    }

    private Path below(String path) {
        return root.resolve(path.startsWith("/") ? path.substring(1) : path);
    }
}
