package org.ep4j.backend.efa;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.bytedeco.javacpp.Loader;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.memory.NativeRecord;
import org.ep4j.engine.memory.UnpackedLibrary;

/**
 * The JNI library of {@link Libfabric}, and libfabric behind it, loaded when they are asked for and not before. libfabric stays
 * loaded until the process ends.
 */
final class FabricLibrary {
    /** What to do where libfabric itself is missing. */
    static final String INSTALL = "apt-get install libfabric1; on EFA the installer of AWS, which puts it into"
            + " /opt/amazon/efa/lib64 (to be named in LD_LIBRARY_PATH or /etc/ld.so.conf.d)";

    private FabricLibrary() {}

    /** Why the library cannot be used. */
    static final class Missing extends Exception {
        private static final long serialVersionUID = 1L;

        private final String remedy;

        private Missing(String message, String remedy, Throwable cause) {
            super(message, cause);
            this.remedy = remedy;
        }

        String remedy() {
            return remedy;
        }
    }

    /** Loads it; a second call does nothing. */
    static void load() throws Missing {
        synchronized (FabricLibrary.class) {
            NativeRecord problem = new NativeRecord(512);
            int length;
            try {
                dropOutdated();
                Loader.load(Libfabric.class);
                length = Libfabric.load(problem.address(), problem.size());
            } catch (LinkageError | RuntimeException e) {
                throw missing(e);
            }
            if (length > 0) {
                String text = problem.text(Math.min(length, problem.size() - 1));
                throw missing(text, new UnsatisfiedLinkError(text));
            }
        }
    }

    /** Drops what JavaCPP has kept of another build. */
    private static void dropOutdated() {
        String platform = Loader.loadProperties().getProperty("platform");
        URL library = Libfabric.class.getResource(platform + "/" + System.mapLibraryName("jniEp4jLibfabric"));
        if (library != null && library.getProtocol().equals("jar")) {
            try {
                UnpackedLibrary.dropOther(library, Loader.cacheResource(library).toPath());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** As {@link #load}, for callers that cannot go on without it. */
    static void require() {
        try {
            load();
        } catch (Missing e) {
            throw new EpUnavailableException(e.getMessage() + "; " + e.remedy(), e);
        }
    }

    private static Missing missing(Throwable e) {
        StringBuilder all = new StringBuilder();
        Throwable cause = e;
        for (int depth = 0; cause != null && depth < 8; depth++) {
            all.append(cause.getMessage()).append('\n');
            cause = cause.getCause();
        }
        return missing(all.toString(), e);
    }

    /** What the messages of the loader mean. */
    static Missing missing(String messages, Throwable e) {
        if (messages.contains("libfabric.so")) {
            return new Missing(
                    "libfabric.so.1 cannot be loaded: "
                            + messages.lines().findFirst().orElse(""),
                    INSTALL,
                    e);
        }
        if (messages.contains("GLIBC") || messages.contains("cannot open shared object file")) {
            return new Missing(
                    "the JNI library of this backend does not load here: "
                            + messages.lines().findFirst().orElse(""),
                    "build ep4j on this machine: apt-get install g++ libfabric-dev, then ./verify",
                    e);
        }
        String platform = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        return new Missing(
                "this backend was built without its JNI library for " + platform.toLowerCase(Locale.ROOT),
                "build ep4j where the headers of libfabric are: apt-get install g++ libfabric-dev, then ./verify",
                e);
    }

    /** {@code 1.17}; the library must be loaded. */
    static String version() {
        int version = Libfabric.version();
        return (version >>> 16) + "." + (version & 0xffff);
    }

    /** A text with a zero at its end, outside of the heap. */
    static NativeRecord text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        NativeRecord record = new NativeRecord(bytes.length + 1);
        record.buffer().put(0, bytes);
        return record;
    }
}
