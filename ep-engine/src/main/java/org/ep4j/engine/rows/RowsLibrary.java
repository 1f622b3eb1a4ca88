package org.ep4j.engine.rows;

import java.io.IOException;
import java.net.URL;
import java.util.Optional;
import org.bytedeco.javacpp.Loader;
import org.ep4j.engine.memory.JniLibraryProblem;
import org.ep4j.engine.memory.NativeMethods;
import org.ep4j.engine.memory.UnpackedLibrary;
import org.jspecify.annotations.Nullable;

/** The JNI library of {@link NativeRows}, loaded when it is asked for and not before. */
final class RowsLibrary {
    private static final String NAME = "jniEp4jRows";
    private static final String OWNER = "ep-engine";
    private static final String PACKAGES = "g++";

    private RowsLibrary() {}

    /** Loads it; a second call does nothing. Says why it cannot be used; empty where it can. */
    static synchronized Optional<JniLibraryProblem> problem() {
        Optional<JniLibraryProblem> jna = NativeMethods.problem();
        if (jna.isPresent()) {
            return jna;
        }
        try {
            URL library = built();
            if (library == null) {
                return Optional.of(notBuilt());
            }
            if (library.getProtocol().equals("jar")) {
                UnpackedLibrary.renew(library, Loader.cacheResource(library).toPath());
            }
            Loader.load(NativeRows.class);
            // Fails where an earlier call has failed to load it, of which JavaCPP does not speak twice.
            NativeRows.runs(RowVariant.BASELINE.number());
            return Optional.empty();
        } catch (IOException | LinkageError | RuntimeException e) {
            return Optional.of(JniLibraryProblem.notLoading(e, OWNER, PACKAGES));
        }
    }

    /** Where it was built; null for a jar from a machine that could not. */
    private static @Nullable URL built() {
        String platform = Loader.loadProperties().getProperty("platform");
        return NativeRows.class.getResource(platform + "/" + System.mapLibraryName(NAME));
    }

    private static JniLibraryProblem notBuilt() {
        return new JniLibraryProblem(
                OWNER + " was built without its JNI library for this platform",
                "apt-get install " + PACKAGES + ", then build ep4j again (./ep does so by itself)");
    }
}
