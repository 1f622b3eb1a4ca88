package org.ep4j.engine.rows;

import java.util.Optional;
import org.ep4j.transport.memory.JniLibraryProblem;
import org.ep4j.transport.memory.NativeMethods;
import org.ep4j.transport.memory.UnpackedLibrary;

/** The JNI library of {@link NativeRows}, loaded once, when it is first asked for. */
final class RowsLibrary {
    private static final String NAME = "jniEp4jRows";
    private static final String OWNER = "ep-engine";
    private static final String PACKAGES = "g++";

    /** Whether loading was tried: JavaCPP reports a failure only once. Guarded by this class. */
    private static boolean tried;

    /** Why that failed; empty where it did not. Guarded by this class. */
    private static Optional<JniLibraryProblem> problem = Optional.empty();

    private RowsLibrary() {}

    /** Why the library cannot be used; empty where it is loaded. Tries it once in a process. */
    static synchronized Optional<JniLibraryProblem> problem() {
        if (!tried) {
            problem = load();
            tried = true;
        }
        return problem;
    }

    private static Optional<JniLibraryProblem> load() {
        Optional<JniLibraryProblem> jna = NativeMethods.problem();
        if (jna.isPresent()) {
            return jna;
        }
        try {
            // JavaCPP itself fails where it is missing or does not know the platform.
            if (!UnpackedLibrary.isBuilt(NativeRows.class, NAME)) {
                return Optional.of(notBuilt());
            }
            UnpackedLibrary.load(NativeRows.class, NAME);
            return Optional.empty();
        } catch (LinkageError | RuntimeException e) {
            return Optional.of(JniLibraryProblem.notLoading(e, OWNER, PACKAGES));
        }
    }

    private static JniLibraryProblem notBuilt() {
        return new JniLibraryProblem(
                OWNER + " was built without its JNI library for this platform",
                "apt-get install " + PACKAGES + ", then build ep4j again (./ep builds it automatically)");
    }
}
