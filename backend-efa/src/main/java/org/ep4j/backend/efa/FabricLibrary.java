package org.ep4j.backend.efa;

import java.util.Optional;
import org.ep4j.transport.memory.JniLibrary;
import org.ep4j.transport.memory.JniLibraryProblem;
import org.ep4j.transport.memory.NativeRecord;

/** The JNI library of {@link Libfabric}, and libfabric behind it, which stays loaded until the process ends. */
final class FabricLibrary {
    /** What to do where libfabric itself is missing. */
    static final String INSTALL = "apt-get install libfabric1; on EFA run the AWS installer, which puts it into"
            + " /opt/amazon/efa/lib64 (add this folder to LD_LIBRARY_PATH, or name it in a file in /etc/ld.so.conf.d and run ldconfig)";

    /** The library. */
    static final JniLibrary JNI = new JniLibrary(
            Libfabric.class,
            "jniEp4jLibfabric",
            "libfabric-dev",
            () -> NativeRecord.read(512, Libfabric::load),
            FabricLibrary::absence);

    private FabricLibrary() {}

    private static Optional<JniLibraryProblem> absence(String text) {
        return text.contains("libfabric.so")
                ? Optional.of(new JniLibraryProblem(
                        "libfabric.so.1 cannot be loaded: "
                                + text.lines().findFirst().orElse(""),
                        INSTALL))
                : Optional.empty();
    }

    /** {@code 1.17}; the library must be loaded. */
    static String version() {
        int version = Libfabric.version();
        return (version >>> 16) + "." + (version & 0xffff);
    }
}
