package org.ep4j.transport.memory;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.jna.FunctionMapper;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Method;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.EpUnavailableException;

/**
 * Binds native methods of classes to libraries with JNA. A class has one binding in a process, which JNA keeps as well: what it takes for
 * one (memory for code, which is mapped from a file) it never gives back, so binding a class anew with each group would leak.
 */
public final class NativeMethods {
    /** Prefix of a library's functions, which methods of a class are named without: {@code cu} for {@code init} of {@code cuInit}. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE)
    public @interface Prefix {
        /** Lower-case letters with which no method's own name begins. */
        String value();
    }

    /** Function of the library that a native method is bound to, where its name does not follow from the method's. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.METHOD)
    public @interface Symbol {
        /** Name in the library, with a suffix such as {@code _v2}. */
        String value();
    }

    private static final int MOST_TRIES = 3;

    /** Apart, so that {@link NativeMethods} can report that JNA's classes are missing. */
    private static final class Mapping {
        /** Options of libraries: JNA looks functions up by the names that this mapper gives. */
        static final Map<String, FunctionMapper> OPTIONS =
                Map.of(Library.OPTION_FUNCTION_MAPPER, (library, method) -> symbol(method));
    }

    /** Stands for the process itself, which has loaded the C library, whatever its file is called. */
    private static final String PROCESS = "";

    /** Names of libraries, by class. Guarded by this class. */
    private static final Map<Class<?>, String> BOUND = new HashMap<>();

    /** Whether loading JNA's own library was tried; a second try would fail without a reason. Guarded by this class. */
    private static boolean tried;

    /** Why that failed; empty where it did not. Guarded by this class. */
    private static Optional<JniLibraryProblem> problem = Optional.empty();

    private NativeMethods() {}

    /**
     * Loads JNA's own library, without which nothing native can be called.
     *
     * @throws EpUnavailableException when it cannot be loaded, with the folder that it is unpacked into
     */
    public static void require() {
        problem().ifPresent(found -> {
            throw new EpUnavailableException(found.message() + "; " + found.remedy());
        });
    }

    /** Returns why nothing native can be called in this process, since JNA's own library cannot be loaded; empty when it can. */
    public static synchronized Optional<JniLibraryProblem> problem() {
        if (!tried) {
            problem = started(() -> Native.POINTER_SIZE, System.getenv());
            tried = true;
        }
        return problem;
    }

    /** Calls what makes JNA load its library. */
    static Optional<JniLibraryProblem> started(Supplier<Integer> jna, Map<String, String> environment) {
        try {
            return jna.get() > 0 ? Optional.empty() : Optional.of(notStarted("it has no pointers", environment));
        } catch (VirtualMachineError e) {
            throw e;
        } catch (Error | RuntimeException e) {
            // JNA throws a plain Error where the library that it finds is of another version.
            return Optional.of(notStarted(reason(e), environment));
        }
    }

    private static JniLibraryProblem notStarted(String reason, Map<String, String> environment) {
        String problem =
                "JNA, through which ep4j calls native libraries, cannot load its own native library: " + reason;
        for (String property : List.of("jna.boot.library.path", "jna.nounpack", "jna.nosys")) {
            if (System.getProperty(property) != null) {
                return new JniLibraryProblem(
                        problem,
                        property
                                + " is set, so JNA does not use its bundled library: unset that property, or"
                                + " point it to a library of JNA's own version");
            }
        }
        return new JniLibraryProblem(
                problem,
                "the library is unpacked into " + folder(environment)
                        + ": check that this folder can be written and is not mounted noexec, or choose another folder"
                        + " with -Djna.tmpdir=FOLDER (if you use ./ep, put this option into JAVA_TOOL_OPTIONS)");
    }

    /** The folder that JNA unpacks into, by the rules of its {@code Native.getTempDir}. */
    static Path folder(Map<String, String> environment) {
        String named = System.getProperty("jna.tmpdir", "");
        if (!named.isEmpty()) {
            return Path.of(named);
        }
        String caches = environment.getOrDefault("XDG_CACHE_HOME", "").strip();
        Path cache = caches.isEmpty() ? Path.of(System.getProperty("user.home", "/"), ".cache") : Path.of(caches);
        Path own = cache.resolve("JNA").resolve("temp");
        return Files.isWritable(own) ? own : Path.of(System.getProperty("java.io.tmpdir", "/tmp"));
    }

    /** Returns the name of the function that a native method is bound to: by {@link Symbol}, else by {@link Prefix} and its own name. */
    public static String symbol(Method method) {
        Symbol named = method.getAnnotation(Symbol.class);
        Prefix prefix = method.getDeclaringClass().getAnnotation(Prefix.class);
        String name = method.getName();
        if (named != null) {
            return named.value();
        }
        return prefix == null || name.startsWith(prefix.value())
                ? name
                : prefix.value() + Character.toUpperCase(name.charAt(0)) + name.substring(1);
    }

    /**
     * Binds all native methods of a class, unless they are bound to this library already.
     *
     * @param library name or path, as the dynamic linker takes it
     * @throws EpUnavailableException when JNA cannot start here
     * @throws LinkageError when there is no such library, or it lacks a function
     */
    public static void bind(Class<?> type, String library) {
        bind(type, library, () -> NativeLibrary.getInstance(library, Mapping.OPTIONS));
    }

    /**
     * Binds all native methods of a class to the C library.
     *
     * @throws EpUnavailableException as {@link #bind}
     * @throws LinkageError as {@link #bind}
     */
    public static void bindToC(Class<?> type) {
        bind(type, PROCESS, () -> NativeLibrary.getProcess(Mapping.OPTIONS));
    }

    private static synchronized void bind(Class<?> type, String name, Supplier<NativeLibrary> library) {
        require();
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

    /** Returns a path as calls of the C library take it: in the encoding that the JDK uses for file names, ended by a zero. */
    public static byte[] pathBytes(Path path) {
        String encoding = System.getProperty("sun.jnu.encoding", "UTF-8");
        byte[] text = path.toString().getBytes(Charset.isSupported(encoding) ? Charset.forName(encoding) : UTF_8);
        return Arrays.copyOf(text, text.length + 1);
    }

    /** Returns why a library does not load: the first line of the message, without the colon before the lines that name every path JNA has tried. */
    public static String reason(Throwable e) {
        String first =
                String.valueOf(e.getMessage()).lines().findFirst().orElse("").strip();
        return first.endsWith(":") ? first.substring(0, first.length() - 1) : first;
    }
}
