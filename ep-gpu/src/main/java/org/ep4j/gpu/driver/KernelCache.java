package org.ep4j.gpu.driver;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.transport.CacheFolder;

/**
 * Compiled kernels on disk, by the hash of everything that determines their code. Several processes may use one folder at once: a file
 * appears whole or not at all, and one that is damaged is compiled again. If several processes need the same code at once, such as the
 * ranks of a host, one compiles and the others wait for it. A folder that cannot be written costs only time.
 *
 * @param folder of the files; without one, nothing is cached
 */
public record KernelCache(Optional<Path> folder) {
    private static final System.Logger LOG = System.getLogger("org.ep4j");
    private static final int DIGEST_BYTES = 32;

    /** Longest wait for another process that compiles the same. */
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(60);

    private static final Duration PAUSE = Duration.ofMillis(20);

    /** Creates a cache in the {@link CacheFolder} of an environment. */
    public static KernelCache of(Map<String, String> environment) {
        return new KernelCache(CacheFolder.of(environment));
    }

    /**
     * Takes code from the cache, else from the compiler.
     *
     * @param parts everything that determines the code: source, options, compiler and its version
     */
    public byte[] get(List<String> parts, Supplier<byte[]> compile) {
        Optional<Path> file = folder.map(path -> path.resolve(key(parts) + ".bin"));
        Optional<byte[]> known = file.flatMap(KernelCache::read);
        if (known.isPresent()) {
            return known.get();
        }
        if (file.isEmpty()) {
            return compile.get();
        }
        return locked(file.get(), LONGEST_WAIT, () -> {
            // Another process may have compiled it meanwhile.
            Optional<byte[]> other = read(file.get());
            if (other.isPresent()) {
                return other.get();
            }
            byte[] code = compile.get();
            write(file.get(), code);
            return code;
        });
    }

    /**
     * Runs {@code work} while no other process or thread compiles the same kernel: under a lock on a file beside the kernel's, which the system
     * releases when its holder dies. Runs it without the lock where files cannot be locked, and after the longest wait.
     */
    static <T> T locked(Path kernel, Duration longest, Supplier<T> work) {
        Path file = kernel.resolveSibling(kernel.getFileName() + ".lock");
        Optional<FileChannel> held = lock(file, kernel, longest);
        try {
            return work.get();
        } finally {
            held.ifPresent(channel -> unlock(file, channel));
        }
    }

    private static Optional<FileChannel> lock(Path file, Path kernel, Duration longest) {
        long end = System.nanoTime() + longest.toNanos();
        try {
            Files.createDirectories(file.toAbsolutePath().getParent());
            while (true) {
                FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                if (tryLock(channel)) {
                    return Optional.of(channel);
                }
                channel.close();
                if (System.nanoTime() > end) {
                    LOG.log(
                            System.Logger.Level.INFO,
                            "waited " + longest.toSeconds() + " s for another process or thread to compile " + kernel
                                    + "; compiling it here, too");
                    return Optional.empty();
                }
                Thread.sleep(PAUSE.toMillis());
            }
        } catch (IOException | UnsupportedOperationException e) {
            LOG.log(System.Logger.Level.DEBUG, () -> "kernels are compiled without a lock on " + file + ": " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return Optional.empty();
    }

    private static boolean tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            // Another thread of this process has it.
            return false;
        } catch (IOException | UnsupportedOperationException e) {
            channel.close();
            throw e;
        }
    }

    private static void unlock(Path file, FileChannel channel) {
        try (channel) {
            // Those that wait for the lock have the file open, and the next one creates another.
            Files.deleteIfExists(file);
        } catch (IOException e) {
            LOG.log(System.Logger.Level.DEBUG, () -> "cannot remove " + file + ": " + e);
        }
    }

    /**
     * Identifies a compiler's library by its real file name, which often has the whole version, and its size. Its folder does not
     * matter: the same installation may be mounted elsewhere tomorrow.
     */
    public static String identity(Path library) {
        try {
            Path real = library.toRealPath();
            return real.getFileName() + " of " + Files.size(real) + " bytes";
        } catch (IOException e) {
            return library.toString();
        }
    }

    /** Hashes a file that becomes a part of the code, such as a linked library; returns its path if it cannot be read. */
    public static String content(Path file) {
        try {
            return HexFormat.of().formatHex(sha256().digest(Files.readAllBytes(file)));
        } catch (IOException e) {
            return file.toString();
        }
    }

    private static String key(List<String> parts) {
        MessageDigest digest = sha256();
        for (String part : parts) {
            byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
            digest.update(ByteBuffer.allocate(4).putInt(bytes.length).flip());
            digest.update(bytes);
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static Optional<byte[]> read(Path file) {
        try {
            byte[] all = Files.readAllBytes(file);
            if (all.length > DIGEST_BYTES) {
                byte[] code = Arrays.copyOfRange(all, DIGEST_BYTES, all.length);
                if (Arrays.equals(Arrays.copyOf(all, DIGEST_BYTES), sha256().digest(code))) {
                    return Optional.of(code);
                }
            }
            LOG.log(System.Logger.Level.INFO, "the compiled kernel " + file + " is damaged; compiling it again");
            return Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static void write(Path file, byte[] code) {
        try {
            Path parent = file.toAbsolutePath().getParent();
            if (parent == null) {
                return;
            }
            Files.createDirectories(parent);
            Path part = Files.createTempFile(parent, "part", ".tmp");
            try {
                Files.write(
                        part,
                        ByteBuffer.allocate(DIGEST_BYTES + code.length)
                                .put(sha256().digest(code))
                                .put(code)
                                .array());
                Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(part);
            }
        } catch (IOException | UncheckedIOException e) {
            LOG.log(System.Logger.Level.DEBUG, () -> "compiled kernels are not kept in " + file + ": " + e);
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
