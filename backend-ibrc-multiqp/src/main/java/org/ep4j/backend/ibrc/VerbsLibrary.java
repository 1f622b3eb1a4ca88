package org.ep4j.backend.ibrc;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.memory.JniLibraryProblem;
import org.ep4j.transport.memory.NativeMethods;
import org.ep4j.transport.memory.NativeRecord;
import org.ep4j.transport.memory.UnpackedLibrary;
import org.jspecify.annotations.Nullable;

/** The JNI library of {@link Verbs}, loaded when it is asked for and not before. */
final class VerbsLibrary {
    /** What to do where libibverbs itself is missing. */
    static final String INSTALL = "apt-get install libibverbs1 ibverbs-providers";

    private static final String NAME = "jniEp4jVerbs";

    private VerbsLibrary() {}

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
        try {
            UnpackedLibrary.load(Verbs.class, NAME);
        } catch (LinkageError | RuntimeException e) {
            throw missing(e);
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
        return missing(e, UnpackedLibrary.isBuilt(Verbs.class, NAME));
    }

    /** Why loading failed, where the library was {@code built} into the jar or not. */
    static Missing missing(Throwable e, boolean built) {
        if (JniLibraryProblem.messages(e).contains("libibverbs.so")) {
            return new Missing(new JniLibraryProblem("libibverbs.so.1 is not installed", INSTALL), e);
        }
        return new Missing(JniLibraryProblem.of(e, built, "libibverbs-dev"), e);
    }

    /** Names of the devices that libibverbs sees; the library must be loaded. */
    static List<String> devices() {
        NativeRecord out = new NativeRecord(1 << 16);
        long length = Verbs.deviceNames(out.address(), out.size());
        if (length == -Errno.ENOSYS) {
            return List.of();
        }
        Errno.check(length, "ibv_get_device_list");
        return out.text((int) length).lines().toList();
    }

    /** Text of a status, such as {@code transport retry counter exceeded}. */
    static String status(int status) {
        NativeRecord out = new NativeRecord(128);
        int length = Verbs.statusText(status, out.address(), out.size());
        return out.text(Math.min(length, out.size() - 1));
    }

    /** Text of an event of a device. */
    static String event(int event) {
        NativeRecord out = new NativeRecord(128);
        int length = Verbs.eventText(event, out.address(), out.size());
        return out.text(Math.min(length, out.size() - 1));
    }

    /** A text with a zero at its end, outside of the heap. */
    static NativeRecord text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        NativeRecord record = new NativeRecord(bytes.length + 1);
        ByteBuffer buffer = record.buffer();
        buffer.put(0, bytes);
        return record;
    }
}
