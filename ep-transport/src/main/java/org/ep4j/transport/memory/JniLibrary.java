package org.ep4j.transport.memory;

import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.ep4j.EpUnavailableException;

/** A JNI library of JavaCPP, with the native library behind it: loaded when asked for and not before. Safe for use from several threads. */
public final class JniLibrary {
    private final Class<?> type;
    private final String name;
    private final String headers;
    private final Supplier<String> start;
    private final Function<String, Optional<JniLibraryProblem>> absence;

    /** Failure because a library cannot be used. */
    public static final class Missing extends Exception {
        private static final long serialVersionUID = 1L;

        private final String remedy;

        private Missing(JniLibraryProblem problem) {
            super(problem.message());
            this.remedy = problem.remedy();
        }

        /** Remedy, for users. */
        public String remedy() {
            return remedy;
        }
    }

    /**
     * Names a library, and loads nothing.
     *
     * @param type the class with the native methods
     * @param name of the library, as JavaCPP builds it
     * @param headers package with the headers that it is built with
     * @param start first call into the library; returns what failed, or nothing
     * @param absence whether a failure, by its messages, means that the native library behind it is absent
     */
    public JniLibrary(
            Class<?> type,
            String name,
            String headers,
            Supplier<String> start,
            Function<String, Optional<JniLibraryProblem>> absence) {
        this.type = type;
        this.name = name;
        this.headers = headers;
        this.start = start;
        this.absence = absence;
    }

    /** Loads it; a second call does nothing. */
    public synchronized void load() throws Missing {
        Optional<JniLibraryProblem> jna = NativeMethods.problem();
        if (jna.isPresent()) {
            throw new Missing(jna.get());
        }
        try {
            UnpackedLibrary.load(type, name);
            String failure = start.get();
            if (!failure.isEmpty()) {
                throw new UnsatisfiedLinkError(failure);
            }
        } catch (LinkageError | RuntimeException e) {
            throw missing(e, UnpackedLibrary.isBuilt(type, name));
        }
    }

    /**
     * Loads it, for callers that cannot continue without it.
     *
     * @throws EpUnavailableException with the reason and what to do
     */
    public void require() {
        try {
            load();
        } catch (Missing e) {
            throw new EpUnavailableException(e.getMessage() + "; " + e.remedy(), e);
        }
    }

    /** Returns why loading failed; {@code built} is false if the jar does not contain the library. */
    public Missing missing(Throwable e, boolean built) {
        Missing missing = new Missing(
                absence.apply(JniLibraryProblem.messages(e)).orElseGet(() -> JniLibraryProblem.of(e, built, headers)));
        missing.initCause(e);
        return missing;
    }
}
