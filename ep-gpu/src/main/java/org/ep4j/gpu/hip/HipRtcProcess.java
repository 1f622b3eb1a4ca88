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
 * HIPRTC in a process of its own, for architectures that it may not support: a crash of that process becomes an
 * exception here. Takes the time that a JVM needs to start, about half a second, in addition to that of the compilation.
 *
 * @param version of the library, for messages
 * @param deadline of each compilation
 * @param java the command without the arguments
 * @param environment in addition to that of this process
 */
record HipRtcProcess(
        Path library, String version, Duration deadline, List<String> java, Map<String, String> environment) {
    /** A compilation takes seconds; several at once on few cores take minutes. */
    static final Duration DEADLINE = Duration.ofMinutes(3);

    /** Longest wait for the end of a killed process. */
    private static final Duration KILLED = Duration.ofSeconds(5);

    /** Java reports the end by a signal as the shell does: 128 and its number. */
    private static final int SIGNAL = 128;

    private static final Map<Integer, String> SIGNALS =
            Map.of(4, "SIGILL", 6, "SIGABRT", 7, "SIGBUS", 8, "SIGFPE", 9, "SIGKILL", 11, "SIGSEGV", 15, "SIGTERM");

    /** Most characters of the process's output in a message. */
    private static final int MOST_OUTPUT = 600;

    /** Begins the names of temporary folders; the number of the process follows. */
    static final String PREFIX = "ep4j-hiprtc-";

    private static final String SOURCE = "source";
    private static final String CODE = "code";
    private static final String FAILURE = "failure";

    HipRtcProcess {
        java = List.copyOf(java);
        environment = Map.copyOf(environment);
    }

    /**
     * Compiles as {@link HipRtc#compile}.
     *
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

    /** Returns the end of the output, where the reason of a crash is. */
    private static String printed(Path output) throws IOException {
        String all = new String(Files.readAllBytes(output), StandardCharsets.UTF_8).strip();
        String last = all.length() <= MOST_OUTPUT ? all : "..." + all.substring(all.length() - MOST_OUTPUT);
        return last.isEmpty() ? "" : ", after it printed \"" + last.replaceAll("\\s*\\R\\s*", " | ") + "\"";
    }

    /** Deletes also what a process left there when it died. */
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
     * Runs HIPRTC once, in the process that {@link #compile} starts. Arguments: the library, its version, the architecture, the name of
     * the source, and the folder that has the source and gets the code, or the reason why there is none.
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

    /** Ends this process, which may hang in HIPRTC, when its parent ends. */
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
