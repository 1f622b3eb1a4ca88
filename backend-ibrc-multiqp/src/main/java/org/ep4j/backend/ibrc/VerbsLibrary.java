package org.ep4j.backend.ibrc;

import java.util.List;
import java.util.Optional;
import org.ep4j.transport.memory.JniLibrary;
import org.ep4j.transport.memory.JniLibraryProblem;
import org.ep4j.transport.memory.NativeRecord;

/** The JNI library of {@link Verbs}, and texts of libibverbs. */
final class VerbsLibrary {
    /** What to do where libibverbs itself is missing. */
    static final String INSTALL = "apt-get install libibverbs1 ibverbs-providers";

    /** The library. */
    static final JniLibrary JNI =
            new JniLibrary(Verbs.class, "jniEp4jVerbs", "libibverbs-dev", () -> "", VerbsLibrary::absence);

    private VerbsLibrary() {}

    private static Optional<JniLibraryProblem> absence(String text) {
        return text.contains("libibverbs.so")
                ? Optional.of(new JniLibraryProblem("libibverbs.so.1 is not installed", INSTALL))
                : Optional.empty();
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
        return NativeRecord.read(128, (out, capacity) -> Verbs.statusText(status, out, capacity));
    }

    /** Text of an event of a device. */
    static String event(int event) {
        return NativeRecord.read(128, (out, capacity) -> Verbs.eventText(event, out, capacity));
    }
}
