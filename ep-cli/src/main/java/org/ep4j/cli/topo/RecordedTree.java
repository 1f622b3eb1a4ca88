package org.ep4j.cli.topo;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.ep4j.topology.TopologyException;

/**
 * A {@code .tar.gz} of files of {@code /sys} and {@code /proc}, unpacked into a folder for temporary files that
 * {@link #close} removes. Nothing is written outside the folder; links that lead out of it, devices and sockets are left out.
 */
final class RecordedTree implements AutoCloseable {
    /** Ten times what the largest machine that we know of has. */
    private static final int MOST_ENTRIES = 500_000;

    private static final long MOST_BYTES = 512L << 20;

    private final Path folder;

    private RecordedTree(Path folder) {
        this.folder = folder;
    }

    /**
     * Unpacks an archive.
     *
     * @throws TopologyException when it is none, is damaged or too large, or would write elsewhere
     */
    static RecordedTree unpack(Path archive) {
        RecordedTree tree;
        try {
            tree = new RecordedTree(Files.createTempDirectory("ep4j-tree").toRealPath());
        } catch (IOException e) {
            throw new TopologyException("cannot make a folder for temporary files: " + e, e);
        }
        try {
            tree.fill(archive);
            return tree;
        } catch (IOException | IllegalArgumentException e) {
            tree.close();
            throw new TopologyException("cannot unpack " + archive + ": " + e.getMessage(), e);
        } catch (TopologyException e) {
            tree.close();
            throw e;
        }
    }

    /** The folder that holds the files: the only one at the top of the archive, or the whole. */
    Path top() {
        Path at = folder;
        while (true) {
            List<Path> entries = entries(at);
            boolean wrapper = entries.size() == 1 && Files.isDirectory(entries.get(0)) && !known(entries.get(0));
            if (!wrapper) {
                return at;
            }
            at = entries.get(0);
        }
    }

    private static boolean known(Path folder) {
        return List.of("sys", "proc", "nodes").contains(folder.getFileName().toString());
    }

    private static List<Path> entries(Path folder) {
        try (Stream<Path> all = Files.list(folder)) {
            return all.limit(2).toList();
        } catch (IOException e) {
            throw new TopologyException("cannot list " + folder + ": " + e, e);
        }
    }

    private void fill(Path archive) throws IOException {
        Map<Path, String> links = new LinkedHashMap<>();
        int count = 0;
        long bytes = 0;
        try (InputStream file = new BufferedInputStream(Files.newInputStream(archive));
                TarArchiveInputStream tar = new TarArchiveInputStream(new GZIPInputStream(file))) {
            for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
                Path target = inside(archive, entry.getName());
                count++;
                bytes += Math.max(0, entry.getSize());
                if (count > MOST_ENTRIES || bytes > MOST_BYTES) {
                    throw new TopologyException(archive + " holds more than " + MOST_ENTRIES + " entries or "
                            + MOST_BYTES + " bytes; record only /sys and the files of /proc that matter");
                }
                if (entry.isSymbolicLink()) {
                    links.put(target, entry.getLinkName());
                } else if (entry.isDirectory()) {
                    Files.createDirectories(target);
                } else if (entry.isFile() && !target.equals(folder)) {
                    Files.createDirectories(target.getParent());
                    Files.copy(tar, target, StandardCopyOption.REPLACE_EXISTING);
                }
            }
        }
        for (Map.Entry<Path, String> link : links.entrySet()) {
            link(link.getKey(), link.getValue());
        }
    }

    private Path inside(Path archive, String name) {
        try {
            Path target = folder.resolve(name.replaceFirst("^/+", "")).normalize();
            if (target.startsWith(folder)) {
                return target;
            }
        } catch (InvalidPathException e) {
            // Refused below, as every name that is no place inside the folder.
        }
        throw new TopologyException(
                archive + " has an entry \"" + name + "\", which lies outside; pack the files again");
    }

    /** Links come last, so that no file is ever written through one. */
    private void link(Path at, String to) throws IOException {
        Path parent = at.getParent();
        if (at.equals(folder) || parent == null || Files.exists(at, java.nio.file.LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        Path target;
        try {
            target = Path.of(to);
        } catch (InvalidPathException e) {
            return;
        }
        if (target.isAbsolute() || !parent.resolve(target).normalize().startsWith(folder)) {
            return;
        }
        Files.createDirectories(parent);
        if (parent.toRealPath().startsWith(folder)) {
            Files.createSymbolicLink(at, target);
        }
    }

    @Override
    public void close() {
        try {
            Files.walkFileTree(folder, new Removal());
        } catch (IOException e) {
            throw new TopologyException("cannot remove " + folder + ": " + e + "; remove it by hand", e);
        }
    }

    /** Removes files, links and folders; never follows a link. */
    private static final class Removal extends SimpleFileVisitor<Path> {
        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult postVisitDirectory(Path folder, @org.jspecify.annotations.Nullable IOException failure)
                throws IOException {
            Files.delete(folder);
            return FileVisitResult.CONTINUE;
        }
    }
}
