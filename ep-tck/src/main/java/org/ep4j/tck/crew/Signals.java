package org.ep4j.tck.crew;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Stops processes and lets them continue. */
public final class Signals {
    private static final Duration LONGEST = Duration.ofSeconds(30);

    private Signals() {}

    /** Stops this process (SIGSTOP). Returns once it continues. */
    public static void stopThisProcess() {
        run("kill -STOP " + ProcessHandle.current().pid());
    }

    /** Stops this process for a time. Returns once it continues. */
    public static void pauseThisProcess(Duration time) {
        long pid = ProcessHandle.current().pid();
        run(String.format(Locale.ROOT, "kill -STOP %d; sleep %.3f; kill -CONT %d", pid, time.toNanos() / 1e9, pid));
    }

    /** Lets a stopped process continue (SIGCONT); one that runs is left alone. */
    public static void resume(long pid) {
        run("kill -CONT " + pid);
    }

    private static void run(String command) {
        try {
            Process process =
                    new ProcessBuilder("sh", "-c", command).inheritIO().start();
            // Time passes for a stopped process too, so the end may be seen only after the deadline.
            if (!process.waitFor(LONGEST.toSeconds(), TimeUnit.SECONDS) && process.isAlive()) {
                process.destroyForcibly();
                throw new IllegalStateException("\"" + command + "\" did not end in " + LONGEST);
            }
            if (process.exitValue() != 0) {
                throw new IllegalStateException("\"" + command + "\" ended with exit code " + process.exitValue());
            }
        } catch (IOException e) {
            throw new UncheckedIOException("sh cannot be run", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
