package org.ep4j.backend.efa;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.memory.JniLibraryProblem;
import org.ep4j.transport.memory.NativeMethods;
import org.ep4j.transport.memory.NativeRecord;
import org.ep4j.transport.memory.UnpackedLibrary;
import org.jspecify.annotations.Nullable;

/**
 * The JNI library of {@link Libfabric}, and libfabric behind it, loaded when they are asked for and not before. libfabric stays
 * loaded until the process ends.
 */
final class FabricLibrary {
    /** What to do where libfabric itself is missing. */
    static final String INSTALL = "apt-get install libfabric1; on EFA run the AWS installer, which puts it into"
            + " /opt/amazon/efa/lib64 (add this folder to LD_LIBRARY_PATH, or name it in a file in /etc/ld.so.conf.d and run ldconfig)";

    private static final String NAME = "jniEp4jLibfabric";

    private FabricLibrary() {}

    /** Why the library cannot be used. */
    static final class Missing extends Exception {
        private static final long serialVersionUID = 1L;

        private final String remedy;

        private Missing(JniLibraryProblem problem, @Nullable Throwable cause) {
            super(problem.message(), cause);
            this.remedy = problem.remedy();
        }

        String remedy() {
            return remedy;
        }
    }

    /** Loads it; a second call does nothing. */
    static void load() throws Missing {
        Optional<JniLibraryProblem> jna = NativeMethods.problem();
        if (jna.isPresent()) {
            throw new Missing(jna.get(), null);
        }
        synchronized (FabricLibrary.class) {
            NativeRecord problem = new NativeRecord(512);
            int length;
            try {
                UnpackedLibrary.load(Libfabric.class, NAME);
                length = Libfabric.load(problem.address(), problem.size());
            } catch (LinkageError | RuntimeException e) {
                throw missing(e);
            }
            if (length > 0) {
                String text = problem.text(Math.min(length, problem.size() - 1));
                throw missing(new UnsatisfiedLinkError(text));
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
        return missing(e, UnpackedLibrary.isBuilt(Libfabric.class, NAME));
    }

    /** Why loading failed, where the library was {@code built} into the jar or not. */
    static Missing missing(Throwable e, boolean built) {
        String text = JniLibraryProblem.messages(e);
        if (text.contains("libfabric.so")) {
            String first = text.lines().findFirst().orElse("");
            return new Missing(new JniLibraryProblem("libfabric.so.1 cannot be loaded: " + first, INSTALL), e);
        }
        return new Missing(JniLibraryProblem.of(e, built, "libfabric-dev"), e);
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
