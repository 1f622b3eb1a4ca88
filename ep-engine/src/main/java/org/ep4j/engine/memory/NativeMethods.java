package org.ep4j.engine.memory;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Binds native methods of classes to libraries with JNA. A class has one binding in a process, which JNA keeps as well: what it takes for
 * one (memory for code, which is mapped from a file) it never gives back, so binding a class anew with each group would leak.
 */
public final class NativeMethods {
    private static final int MOST_TRIES = 3;

    /** Stands for the process itself, which has loaded the C library, whatever its file is called. */
    private static final String PROCESS = "";

    /** Names of libraries, by class. Guarded by this class. */
    private static final Map<Class<?>, String> BOUND = new HashMap<>();

    private NativeMethods() {}

    /**
     * Binds all native methods of a class, unless they are bound to this library already.
     *
     * @param library name or path, as the dynamic linker takes it
     * @throws LinkageError when JNA cannot start here, there is no such library, or it lacks a function
     */
    public static void bind(Class<?> type, String library) {
        bind(type, library, () -> NativeLibrary.getInstance(library));
    }

    /**
     * Binds all native methods of a class to the C library.
     *
     * @throws LinkageError as {@link #bind}
     */
    public static void bindToC(Class<?> type) {
        bind(type, PROCESS, NativeLibrary::getProcess);
    }

    private static synchronized void bind(Class<?> type, String name, Supplier<NativeLibrary> library) {
        for (int tries = 1; !name.equals(BOUND.get(type)); tries++) {
            try {
                // JNA keeps the library loaded from here on.
                Native.register(type, library.get());
                BOUND.put(type, name);
            } catch (UnsupportedOperationException e) {
                // Memory for code may be refused once and given at the next call.
                if (tries == MOST_TRIES) {
                    throw (UnsatisfiedLinkError)
                            new UnsatisfiedLinkError("JNA gets no executable memory: " + e.getMessage()).initCause(e);
                }
            }
        }
    }
}
