package org.ep4j.gpu.hip;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;

/**
 * HIPRTC in a process of its own, for architectures that it is not known to know: what it does to that process becomes an
 * exception here. Takes the time that a JVM needs to start, about half a second, beside that of the compilation.
 */
final class HipRtcProcess {
    /** A compilation takes seconds; several at once on few cores take minutes. */
    static final Duration DEADLINE = Duration.ofMinutes(3);

    /** How long a process that was killed may take to be gone. */
    private static final Duration KILLED = Duration.ofSeconds(5);

    /** Java tells the end by a signal as the shell does: 128 and its number. */
    private static final int SIGNAL = 128;

    private static final Map<Integer, String> SIGNALS =
            Map.of(4, "SIGILL", 6, "SIGABRT", 7, "SIGBUS", 8, "SIGFPE", 9, "SIGKILL", 11, "SIGSEGV", 15, "SIGTERM");

    /** Of what it printed, at most so many characters are told. */
    private static final int TOLD = 600;

    /** Begins the names of temporary folders; the number of the process follows. */
    static final String PREFIX = "ep4j-hiprtc-";

    private static final String SOURCE = "source";
    private static final String CODE = "code";
    private static final String FAILURE = "failure";

    private final Path library;
    private final String version;
    private final Duration deadline;
    private final List<String> java;
    private final Map<String, String> environment;

    /**
     * For one library.
     *
     * @param version of the library, for messages
     * @param deadline of each compilation
     */
    HipRtcProcess(Path library, String version, Duration deadline) {
        this(library, version, deadline, JavaCommand.of(HipRtcProcess.class), Map.of());
    }

    /**
     * As above.
     *
     * @param java the command without the arguments
     * @param environment on top of this process's
     */
    HipRtcProcess(Path library, String version, Duration deadline, List<String> java, Map<String, String> environment) {
        this.library = library;
        this.version = version;
        this.deadline = deadline;
        this.java = List.copyOf(java);
        this.environment = Map.copyOf(environment);
    }

    /**
     * Compiles.
     *
     * @param name of the source, for messages
     * @param source HIP C++ without includes
     * @param target {@code gfx1250}
     * @return a code object
     * @throws EpException with the compiler's own messages
     * @throws EpUnavailableException when HIPRTC ended the process, naming how, and what to do
     * @throws EpTimeoutException when it did not answer
     */
    byte[] compile(String name, String source, String target) {
        try {
            Path folder =
                    Files.createTempDirectory(PREFIX + ProcessHandle.current().pid() + "-");
            try {
                Files.writeString(folder.resolve(SOURCE), source);
                return compiled(name, target, folder);
            } finally {
                delete(folder);
            }
        } catch (IOException e) {
            throw new EpException(
                    asked(target) + " failed: " + e + "; it needs " + java.get(0) + " and a folder in "
                            + System.getProperty("java.io.tmpdir"),
                    e);
        }
    }

    private byte[] compiled(String name, String target, Path folder) throws IOException {
        Path output = folder.resolve("output");
        int end = end(start(name, target, folder, output), target);
        Path failure = folder.resolve(FAILURE);
        if (end == 0 && Files.exists(failure)) {
            throw new EpException(Files.readString(failure));
        }
        if (end == 0) {
            return Files.readAllBytes(folder.resolve(CODE));
        }
        String printed = printed(output);
        if (end <= SIGNAL) {
            throw new EpException("the process that runs HIPRTC for " + target + " ended with exit status " + end
                    + printed + "; its command was " + String.join(" ", java));
        }
        int signal = end - SIGNAL;
        throw new EpUnavailableException(asked(target) + " ended that process by signal " + signal + " ("
                + SIGNALS.getOrDefault(signal, "unknown") + ")" + printed
                + ", as HIPRTC does for an architecture that it does not know; " + HipArchitecture.remedy(target));
    }

    private String asked(String target) {
        return "HIPRTC " + version + " in " + library + ", asked in a separate process to compile for " + target + ",";
    }

    private Process start(String name, String target, Path folder, Path output) throws IOException {
        List<String> command = new ArrayList<>(java);
        command.addAll(List.of(library.toString(), version, target, name, folder.toString()));
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().putAll(environment);
        // Agents and ports of this JVM are not for a second one.
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
        return builder.start();
    }

    private int end(Process process, String target) {
        try {
            if (process.waitFor(deadline.toMillis(), TimeUnit.MILLISECONDS)) {
                return process.exitValue();
            }
            throw new EpTimeoutException(
                    asked(target) + " did not answer within " + deadline.toMillis() + " ms and was ended; "
                            + HipArchitecture.remedy(target),
                    EpFailure.builder("compilation", -1).expected(1).build(),
                    EpException.Recourse.INSTALL);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpException("interrupted while HIPRTC compiled for " + target + " in a separate process", e);
        } finally {
            kill(process);
        }
    }

    /** Nothing where it has ended. */
    private static void kill(Process process) {
        process.destroyForcibly();
        boolean interrupted = Thread.interrupted();
        try {
            process.waitFor(KILLED.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** The end of it: what ended the process comes last. */
    private static String printed(Path output) throws IOException {
        String all = new String(Files.readAllBytes(output), StandardCharsets.UTF_8).strip();
        String last = all.length() <= TOLD ? all : "..." + all.substring(all.length() - TOLD);
        return last.isEmpty() ? "" : ", after it printed \"" + last.replaceAll("\\s*\\R\\s*", " | ") + "\"";
    }

    /** With what the process may have left there when it died. */
    private static void delete(Path folder) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                Files.deleteIfExists(file);
            }
            Files.deleteIfExists(folder);
        } catch (IOException e) {
            System.getLogger("org.ep4j").log(System.Logger.Level.DEBUG, () -> "files are left in " + folder + ": " + e);
        }
    }

    /**
     * Asks HIPRTC once, in the process that {@link #compile} starts. Arguments: the library, its version, the architecture, the name of
     * the source, and the folder in which it finds the source and leaves the code or why there is none.
     */
    public static void main(String[] arguments) throws IOException {
        Thread watch = new Thread(HipRtcProcess::endWithParent, "parent");
        watch.setDaemon(true);
        watch.start();
        Path folder = Path.of(arguments[4]);
        String source = Files.readString(folder.resolve(SOURCE));
        try {
            byte[] code = new HipRtc(Path.of(arguments[0]), arguments[1])
                    .compile(arguments[3], source, arguments[2], HipCompiler.OPTIONS);
            Files.write(folder.resolve(CODE), code);
        } catch (EpException e) {
            Files.writeString(folder.resolve(FAILURE), String.valueOf(e.getMessage()));
        }
    }

    /** The parent says nothing; its end ends this process too, which may hang in HIPRTC. */
    private static void endWithParent() {
        try {
            while (System.in.read() >= 0) {
                // Until the parent is gone.
            }
        } catch (IOException e) {
            // As if it had ended.
        }
        Runtime.getRuntime().halt(1);
    }
}
