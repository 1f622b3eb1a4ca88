package org.ep4j.gpu.driver;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Compiled kernels on disk, by the hash of all that goes into them. Several processes may use one folder at once: a file
 * appears whole or not at all, and one that is damaged is compiled again. Of processes that ask for the same at once, such as the
 * ranks of a host, one compiles and the others wait for it. A folder that cannot be written costs only time.
 */
public final class KernelCache {
    private static final System.Logger LOG = System.getLogger("org.ep4j");
    private static final int DIGEST_BYTES = 32;

    /** Longest wait for another process that compiles the same. */
    private static final Duration TURN = Duration.ofSeconds(60);

    private final Optional<Path> folder;

    /** In a folder; nowhere when that is empty. */
    public KernelCache(Optional<Path> folder) {
        this.folder = folder;
    }

    /** {@code EP_CACHE_DIR}, else {@code ep4j} in {@code XDG_CACHE_HOME} or {@code ~/.cache}; nowhere without a home. */
    public static KernelCache of(Map<String, String> environment) {
        String own = environment.getOrDefault("EP_CACHE_DIR", "");
        String shared = environment.getOrDefault("XDG_CACHE_HOME", "");
        String home = environment.getOrDefault("HOME", "");
        Optional<Path> folder = !own.isBlank()
                ? Optional.of(Path.of(own))
                : !shared.isBlank()
                        ? Optional.of(Path.of(shared, "ep4j"))
                        : !home.isBlank() ? Optional.of(Path.of(home, ".cache", "ep4j")) : Optional.empty();
        return new KernelCache(folder);
    }

    /**
     * Code from the cache, else from the compiler.
     *
     * @param parts all that decides about the code: source, options, compiler and its version
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
        return CompileTurn.at(file.get(), TURN, () -> {
            // Another process may have compiled it until now.
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
     * Tells a compiler's library from others by its real file name, which often has the whole version, and its size. Where it lies does not
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

    /** Hash of a file that becomes a part of the code, such as a library that is linked into it; its path if it cannot be read. */
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
