package org.ep4j.gpu.hip;

import com.sun.jna.Native;
import java.io.File;
import java.lang.module.ModuleDescriptor;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.EpException;
import org.ep4j.transport.memory.NativeMethods;

/**
 * Command that starts a main class of this module in another JVM: with the Java of this process and the files that its classes and the
 * classes that it needs came from, whether by class path, module path, or the manifest of one jar; with the modules of the run-time image if it has
 * them. If classes came from elsewhere (jars in a jar), with the class path of this process.
 */
final class JavaCommand {
    /** For a fast start of few classes. LLVM needs as large a stack as that of a process's first thread. */
    private static final List<String> OPTIONS = List.of(
            "-XX:+IgnoreUnrecognizedVMOptions",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-CreateCoredumpOnCrash",
            "-Xmx256m",
            "-Xss8m");

    /** Properties that say from where to where JNA unpacks itself. */
    private static final List<String> INHERITED = List.of(
            "java.io.tmpdir", "jna.tmpdir", "jna.boot.library.path", "jna.nosys", "jna.noclasspath", "jna.nounpack");

    private JavaCommand() {}

    /** Returns the command without arguments. */
    static List<String> of(Class<?> main) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home", ""), "bin", "java").toString());
        command.addAll(OPTIONS);
        for (String name : INHERITED) {
            String value = System.getProperty(name);
            if (value != null) {
                command.add("-D" + name + "=" + value);
            }
        }
        Optional<URI> home = source(main);
        if (home.filter(uri -> "jrt".equals(uri.getScheme())).isPresent()) {
            String module = Optional.ofNullable(main.getModule().getDescriptor())
                    .map(ModuleDescriptor::name)
                    .orElse("");
            String natives = Native.class.getModule().getName();
            command.addAll(List.of("--enable-native-access=" + natives, "-m", module + "/" + main.getName()));
        } else {
            command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp", classPath(main), main.getName()));
        }
        return command;
    }

    private static String classPath(Class<?> main) {
        Set<Path> files = new LinkedHashSet<>();
        for (Class<?> needed : List.of(main, NativeMethods.class, EpException.class, Native.class)) {
            Optional<Path> file =
                    source(needed).filter(uri -> "file".equals(uri.getScheme())).map(Path::of);
            if (file.isEmpty()) {
                return ofThisProcess();
            }
            files.add(file.get().toAbsolutePath());
        }
        return files.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
    }

    /** The other process has another working directory. */
    private static String ofThisProcess() {
        return Stream.of(System.getProperty("jdk.module.path", ""), System.getProperty("java.class.path", ""))
                .flatMap(path -> Stream.of(path.split(File.pathSeparator, -1)))
                .filter(entry -> !entry.isEmpty())
                .map(entry -> Path.of(entry).toAbsolutePath().toString())
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static Optional<URI> source(Class<?> type) {
        return Optional.ofNullable(type.getProtectionDomain().getCodeSource())
                .map(CodeSource::getLocation)
                .flatMap(url -> {
                    try {
                        return Optional.of(url.toURI());
                    } catch (URISyntaxException e) {
                        return Optional.empty();
                    }
                });
    }
}
