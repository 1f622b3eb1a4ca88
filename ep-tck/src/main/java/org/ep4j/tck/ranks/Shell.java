package org.ep4j.tck.ranks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.ep4j.tck.oracle.Patience;

/** Runs commands of the operating system, and stops processes by signals. */
public final class Shell {
    private static final Duration GRACE = Patience.scaled(Duration.ofSeconds(5));
    private static final Duration SIGNAL = Duration.ofSeconds(30);

    private Shell() {}

    /**
     * Runs a command and waits until it ends.
     *
     * @param timeout after which the command is killed; time in which this process was stopped counts
     * @throws IllegalStateException if it fails or does not end in time, or the thread is interrupted
     */
    public static void run(String command, Duration timeout) {
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
            // A process that was stopped past the deadline notices the command's end a moment after it continues.
            if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)
                    && !process.waitFor(GRACE.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly();
                throw new IllegalStateException("\"" + command + "\" did not end in " + timeout);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while \"" + command + "\" ran", e);
        }
        if (process.exitValue() != 0) {
            throw new IllegalStateException("\"" + command + "\" ended with exit code " + process.exitValue());
        }
    }

    /** Stops this process (SIGSTOP). Returns once it has continued. */
    public static void stopThisProcess() {
        run("kill -STOP " + ProcessHandle.current().pid(), SIGNAL);
    }

    /** Stops this process for a time. Returns once it has continued. */
    public static void pauseThisProcess(Duration time) {
        long pid = ProcessHandle.current().pid();
        run(
                String.format(Locale.ROOT, "kill -STOP %d; sleep %.3f; kill -CONT %d", pid, time.toNanos() / 1e9, pid),
                SIGNAL);
    }

    /** Lets a stopped process continue (SIGCONT); has no effect on one that runs. */
    public static void resume(long pid) {
        run("kill -CONT " + pid, SIGNAL);
    }
}
