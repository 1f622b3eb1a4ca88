package org.ep4j.engine.memory;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** A native library that was taken out of a jar to be loaded, and kept for the next process. */
public final class UnpackedLibrary {
    private UnpackedLibrary() {}

    /**
     * Drops a kept library that is not the one in the jar. JavaCPP takes a library out again where its length or time differ;
     * those of two builds can be the same, since builds are reproducible, and then the library of the other build would be loaded.
     *
     * @param inJar the library
     * @param kept where it was unpacked to
     * @throws UncheckedIOException when one of them cannot be read
     */
    public static void dropOther(URL inJar, Path kept) {
        try (InputStream built = inJar.openStream()) {
            if (!Arrays.equals(built.readAllBytes(), Files.readAllBytes(kept))) {
                Files.deleteIfExists(kept);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
