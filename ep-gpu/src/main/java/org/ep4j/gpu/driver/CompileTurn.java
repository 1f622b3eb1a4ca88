package org.ep4j.gpu.driver;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The turn to compile one kernel, which one process or thread has at a time: a lock on a file beside the kernel's own, which the
 * system gives up when its holder dies. Where files cannot be locked, and after a wait that is too long, everybody has it.
 */
final class CompileTurn {
    private static final System.Logger LOG = System.getLogger("org.ep4j");
    private static final Duration PAUSE = Duration.ofMillis(20);

    private final Path file;
    private final Optional<FileChannel> channel;

    private CompileTurn(Path file, Optional<FileChannel> channel) {
        this.file = file;
        this.channel = channel;
    }

    /**
     * Waits for it and does what is to be done then.
     *
     * @param kernel file of the kernel
     * @param patience longest wait
     */
    static <T> T at(Path kernel, Duration patience, Supplier<T> work) {
        CompileTurn turn = take(kernel, patience);
        try {
            return work.get();
        } finally {
            turn.end();
        }
    }

    private static CompileTurn take(Path kernel, Duration patience) {
        Path file = kernel.resolveSibling(kernel.getFileName() + ".lock");
        long end = System.nanoTime() + patience.toNanos();
        try {
            Files.createDirectories(file.toAbsolutePath().getParent());
            while (true) {
                Optional<FileChannel> held = lock(file);
                if (held.isPresent()) {
                    return new CompileTurn(file, held);
                }
                if (System.nanoTime() > end) {
                    LOG.log(
                            System.Logger.Level.INFO,
                            "waited " + patience.toSeconds() + " s for another process or thread to compile " + kernel
                                    + "; compiling it here, too");
                    break;
                }
                Thread.sleep(PAUSE.toMillis());
            }
        } catch (IOException | UnsupportedOperationException e) {
            LOG.log(System.Logger.Level.DEBUG, () -> "kernels are compiled without a lock on " + file + ": " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return new CompileTurn(file, Optional.empty());
    }

    /** The file's channel, locked; empty where another has the lock. */
    private static Optional<FileChannel> lock(Path file) throws IOException {
        FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        boolean held = false;
        try {
            FileLock lock = channel.tryLock();
            held = lock != null;
        } catch (OverlappingFileLockException e) {
            // Of another thread of this process.
            held = false;
        } finally {
            if (!held) {
                channel.close();
            }
        }
        return held ? Optional.of(channel) : Optional.empty();
    }

    /** Gives the turn to the next. */
    private void end() {
        channel.ifPresent(held -> {
            try (held) {
                // Whoever waits for the lock has the file open, and the next one makes another.
                Files.deleteIfExists(file);
            } catch (IOException e) {
                LOG.log(System.Logger.Level.DEBUG, () -> "cannot remove " + file + ": " + e);
            }
        });
    }
}
