package org.ep4j.tck.crew;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.ep4j.tck.oracle.Patience;

/** Commands of the operating system. */
public final class Shell {
    private static final Duration SEEN = Patience.here(Duration.ofSeconds(5));

    private static final Duration LONGEST_SIGNAL = Duration.ofSeconds(30);

    private Shell() {}

    /**
     * Runs a command and waits until it ends.
     *
     * @param longest after which it is killed; a time in which this process was stopped counts
     * @throws IllegalStateException if it fails or does not end in time, or the thread is interrupted
     */
    public static void run(String command, Duration longest) {
        Process process;
        try {
            process = new ProcessBuilder("sh", "-c", command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException("sh cannot be run", e);
        }
        try {
            // If this process was stopped past the deadline, it sees the end of the command only a moment after it has
            // continued.
            if (!process.waitFor(longest.toMillis(), TimeUnit.MILLISECONDS)
                    && !process.waitFor(SEEN.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly();
                throw new IllegalStateException("\"" + command + "\" did not end in " + longest);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while \"" + command + "\" ran", e);
        }
        if (process.exitValue() != 0) {
            throw new IllegalStateException("\"" + command + "\" ended with exit code " + process.exitValue());
        }
    }

    /** Stops this process (SIGSTOP). Returns once it continues. */
    public static void stopThisProcess() {
        run("kill -STOP " + ProcessHandle.current().pid(), LONGEST_SIGNAL);
    }

    /** Stops this process for a time. Returns once it continues. */
    public static void pauseThisProcess(Duration time) {
        long pid = ProcessHandle.current().pid();
        run(
                String.format(Locale.ROOT, "kill -STOP %d; sleep %.3f; kill -CONT %d", pid, time.toNanos() / 1e9, pid),
                LONGEST_SIGNAL);
    }

    /** Lets a stopped process continue (SIGCONT); one that runs is left alone. */
    public static void resume(long pid) {
        run("kill -CONT " + pid, LONGEST_SIGNAL);
    }
}
