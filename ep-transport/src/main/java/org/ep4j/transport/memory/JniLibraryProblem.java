package org.ep4j.transport.memory;

import java.nio.file.Path;
import java.util.Locale;

/**
 * Reason why a JNI library cannot be loaded.
 *
 * @param message what is wrong
 * @param remedy what to do
 */
public record JniLibraryProblem(String message, String remedy) {
    private static final int CAUSES = 8;

    /**
     * Returns the meaning of a failure to load, if the native library behind it is installed.
     *
     * @param e what was thrown
     * @param built whether the jar has a library for this platform
     * @param headers package with the headers that it is built with
     */
    public static JniLibraryProblem of(Throwable e, boolean built, String headers) {
        if (!built) {
            String platform = System.getProperty("os.name") + " " + System.getProperty("os.arch");
            return new JniLibraryProblem(
                    "this backend was built without its JNI library for " + platform.toLowerCase(Locale.ROOT),
                    "install the compiler and the headers of the native library: apt-get install g++ " + headers
                            + ", then build ep4j again (./ep builds it automatically)");
        }
        return notLoading(e, "this backend", "g++ " + headers);
    }

    /**
     * Returns the meaning of a failure to load a library that was built.
     *
     * @param e what was thrown
     * @param owner whose library it is, for the message
     * @param packages with which it is built
     */
    public static JniLibraryProblem notLoading(Throwable e, String owner, String packages) {
        String text = messages(e);
        String first = text.lines().findFirst().orElse("");
        boolean other = text.contains("GLIBC") || text.contains("cannot open shared object file");
        return new JniLibraryProblem(
                "the JNI library of " + owner + " does not load here: " + first,
                other
                        ? "build ep4j on this machine: apt-get install " + packages + ", mvn clean, then build it again"
                        : "the library is unpacked into " + folder()
                                + ": check that this folder can be written and is not mounted noexec, or choose"
                                + " another folder with -Dorg.bytedeco.javacpp.cachedir=FOLDER (for ./ep in"
                                + " JAVA_TOOL_OPTIONS)");
    }

    /** The folder that JavaCPP unpacks into first. */
    private static Path folder() {
        String named = System.getProperty("org.bytedeco.javacpp.cachedir", "");
        return named.isEmpty() ? Path.of(System.getProperty("user.home", "/"), ".javacpp", "cache") : Path.of(named);
    }

    /** Returns the messages of a failure and of its causes, a line each. */
    public static String messages(Throwable e) {
        StringBuilder all = new StringBuilder();
        Throwable cause = e;
        for (int depth = 0; cause != null && depth < CAUSES; depth++) {
            all.append(cause.getMessage()).append('\n');
            cause = cause.getCause();
        }
        return all.toString();
    }
}
