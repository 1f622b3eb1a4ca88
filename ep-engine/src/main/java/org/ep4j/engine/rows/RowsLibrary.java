package org.ep4j.engine.rows;

import java.util.Optional;
import org.ep4j.engine.memory.JniLibraryProblem;
import org.ep4j.engine.memory.NativeMethods;
import org.ep4j.engine.memory.UnpackedLibrary;

/** The JNI library of {@link NativeRows}, loaded when it is asked for and not before. */
final class RowsLibrary {
    private static final String NAME = "jniEp4jRows";
    private static final String OWNER = "ep-engine";
    private static final String PACKAGES = "g++";

    private RowsLibrary() {}

    /** Loads the library, and says why it cannot be used; empty where it can. A second call does nothing. */
    static synchronized Optional<JniLibraryProblem> problem() {
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
            // Fails where an earlier call has failed to load it, of which JavaCPP does not speak twice.
            NativeRows.runs(RowVariant.BASELINE.number());
            return Optional.empty();
        } catch (LinkageError | RuntimeException e) {
            return Optional.of(JniLibraryProblem.notLoading(e, OWNER, PACKAGES));
        }
    }

    private static JniLibraryProblem notBuilt() {
        return new JniLibraryProblem(
                OWNER + " was built without its JNI library for this platform",
                "apt-get install " + PACKAGES + ", then build ep4j again (./ep does so by itself)");
    }
}
