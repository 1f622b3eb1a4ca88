package org.ep4j.transport.memory;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.UUID;
import org.bytedeco.javacpp.Loader;
import org.jspecify.annotations.Nullable;

/** JNI libraries of JavaCPP: each is taken out of its jar to be loaded, and kept for the next process. */
public final class UnpackedLibrary {
    private UnpackedLibrary() {}

    /**
     * Returns whether the jar of a class, or its folder of classes, has its JNI library for this platform.
     *
     * @param type the class with the native methods
     * @param name of the library, as JavaCPP builds it
     */
    public static boolean isBuilt(Class<?> type, String name) {
        return built(type, name) != null;
    }

    private static @Nullable URL built(Class<?> type, String name) {
        String platform = Loader.loadProperties().getProperty("platform");
        return type.getResource(platform + "/" + System.mapLibraryName(name));
    }

    /**
     * Loads the JNI library of a class, which is compared with the one in the jar before.
     *
     * @param type the class with the native methods
     * @param name of the library, as JavaCPP builds it
     * @throws LinkageError when it was not built, or does not load
     * @throws UncheckedIOException when it cannot be read or kept
     */
    public static void load(Class<?> type, String name) {
        URL library = built(type, name);
        if (library != null && library.getProtocol().equals("jar")) {
            renew(library);
        }
        Loader.load(type);
    }

    /** Makes what JavaCPP has kept of a library the one in the jar. */
    static void renew(URL inJar) {
        try {
            renew(inJar, Loader.cacheResource(inJar).toPath());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Makes a kept library the one in the jar. JavaCPP takes a library out again where its length or time differ; those of two
     * builds can be the same, since builds are reproducible, and then the library of the other build would be loaded. Other
     * processes may do the same at once: the file is there, and whole, all the time.
     *
     * @param inJar the library
     * @param kept where it was unpacked to; keeps its time, by which JavaCPP knows it
     * @throws UncheckedIOException when one of them cannot be read, or the folder of {@code kept} not be written
     */
    static void renew(URL inJar, Path kept) {
        try (InputStream in = inJar.openStream()) {
            byte[] built = in.readAllBytes();
            if (!Arrays.equals(built, Files.readAllBytes(kept))) {
                replace(kept, built);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void replace(Path kept, byte[] built) throws IOException {
        Path fresh = kept.resolveSibling(kept.getFileName() + "." + UUID.randomUUID());
        try {
            Files.write(fresh, built, StandardOpenOption.CREATE_NEW);
            Files.setLastModifiedTime(fresh, Files.getLastModifiedTime(kept));
            Files.move(fresh, kept, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(fresh);
        }
    }
}
