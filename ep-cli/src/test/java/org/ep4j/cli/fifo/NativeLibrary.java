package org.ep4j.cli.fifo;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;

/** Builds {@code proxy.cpp}, which is compared with, and loads it into this process. */
final class NativeLibrary {
    private static final String SOURCE = "proxy.cpp";
    private static final int SECONDS = 60;

    private NativeLibrary() {}

    /**
     * Builds it by {@code g++} and loads it.
     *
     * @throws EpUnavailableException where there is no compiler, or it fails
     */
    static void buildAndLoad() {
        try {
            Path folder = Files.createTempDirectory("ep-fifo-");
            Path source = folder.resolve(SOURCE);
            Path library = folder.resolve("libep_fifo.so");
            try {
                try (InputStream in = NativeLibrary.class.getResourceAsStream(SOURCE)) {
                    if (in == null) {
                        throw new IllegalStateException(SOURCE + " is missing on the class path");
                    }
                    Files.copy(in, source);
                }
                compile(source, library);
                load(library);
            } finally {
                // What is loaded stays, whether its file does or not.
                Files.deleteIfExists(library);
                Files.deleteIfExists(source);
                Files.deleteIfExists(folder.resolve("log"));
                Files.deleteIfExists(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void compile(Path source, Path library) throws IOException {
        Path log = source.resolveSibling("log");
        List<String> command = List.of(
                "g++",
                "-O3",
                "-std=c++17",
                "-shared",
                "-fPIC",
                "-pthread",
                "-o",
                library.toString(),
                source.toString());
        Process process;
        try {
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "no C++ proxy threads to compare with: g++ cannot be started (" + e.getMessage()
                            + "); install it, name a built library with --native, or skip the comparison with --native none",
                    e);
        }
        try {
            if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new EpTimeoutException(
                        "g++ has not compiled " + SOURCE + " within " + SECONDS + " s",
                        EpFailure.builder("compile", -1).expected(1).build());
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new EpUnavailableException("interrupted while g++ compiled " + SOURCE, e);
        }
        if (process.exitValue() != 0) {
            throw new EpUnavailableException("g++ cannot compile " + SOURCE + ", exit code " + process.exitValue()
                    + ": " + Files.readString(log, StandardCharsets.UTF_8)
                    + "; skip the comparison with --native none");
        }
    }

    /** Loads a built library. */
    static void load(Path library) {
        try {
            System.load(library.toAbsolutePath().toString());
        } catch (UnsatisfiedLinkError e) {
            throw new EpUnavailableException(
                    library + " cannot be loaded: " + e.getMessage()
                            + "; build it with g++ -O3 -shared -fPIC -pthread from " + SOURCE,
                    e);
        }
    }
}
