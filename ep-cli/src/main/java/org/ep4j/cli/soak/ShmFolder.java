package org.ep4j.cli.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/** A folder of the run's own for shared memory, so that files which stay are this run's. */
public final class ShmFolder implements AutoCloseable {
    /** Most memory that is taken to fill a folder up. */
    private static final long LARGEST = 1L << 30;

    private static final int CHUNK = 1 << 20;
    private static final int SECONDS = 10;

    private final Path folder;
    private final boolean mounted;

    private ShmFolder(Path folder, boolean mounted) {
        this.folder = folder;
        this.mounted = mounted;
    }

    /** A folder below {@code base}. */
    public static ShmFolder in(Path base) {
        try {
            return new ShmFolder(Files.createTempDirectory(base, "ep-soak-"), false);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make a folder in " + base, e);
        }
    }

    /** A file system in memory of its own, with a limit; empty where this process may not mount one. */
    public static Optional<ShmFolder> mounted() {
        ShmFolder made = in(Path.of(System.getProperty("java.io.tmpdir", "/tmp")));
        if (succeeds("mount", "-t", "tmpfs", "-o", "size=" + LARGEST, "ep-soak", made.folder.toString())) {
            return Optional.of(new ShmFolder(made.folder, true));
        }
        made.close();
        return Optional.empty();
    }

    private static boolean succeeds(String... command) {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return process.waitFor(SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** The folder. */
    public Path path() {
        return folder;
    }

    /** Why it cannot be filled up; empty where it can. */
    public Optional<String> problem() {
        try {
            long size = Files.getFileStore(folder).getTotalSpace();
            return size > 0 && size <= LARGEST
                    ? Optional.empty()
                    : Optional.of("this process may not mount a small file system in memory, and " + folder.getParent()
                            + " has more than " + (LARGEST >> 20)
                            + " MB, which filling it up would take; run as root, or"
                            + " --set ep.shm.dir= a small one");
        } catch (IOException e) {
            return Optional.of("the size of " + folder + " is not known: " + e);
        }
    }

    /** What takes all the room, until it is closed. */
    static final class Filler implements AutoCloseable {
        private final Path file;
        private final long bytes;

        private Filler(Path file, long bytes) {
            this.file = file;
            this.bytes = bytes;
        }

        long bytes() {
            return bytes;
        }

        @Override
        public void close() {
            try {
                Files.deleteIfExists(file);
            } catch (IOException e) {
                throw new UncheckedIOException("cannot remove " + file, e);
            }
        }
    }

    /** Fills it up. */
    Filler fill() {
        Path file = folder.resolve("filler");
        long written = 0;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            ByteBuffer zeros = ByteBuffer.allocateDirect(CHUNK);
            while (written <= LARGEST) {
                written += channel.write(zeros.clear());
            }
        } catch (IOException e) {
            System.getLogger(ShmFolder.class.getName()).log(System.Logger.Level.DEBUG, "the folder is full", e);
        }
        return new Filler(file, written);
    }

    /** Names of the files in it. */
    Set<String> files() {
        Set<String> names = new TreeSet<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(folder)) {
            all.forEach(file -> names.add(file.getFileName().toString()));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list " + folder, e);
        }
        return names;
    }

    /** Removes it with all that is in it. */
    @Override
    public void close() {
        try {
            for (String name : files()) {
                Files.deleteIfExists(folder.resolve(name));
            }
            if (mounted) {
                succeeds("umount", "-l", folder.toString());
            }
            Files.deleteIfExists(folder);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove " + folder, e);
        }
    }
}
