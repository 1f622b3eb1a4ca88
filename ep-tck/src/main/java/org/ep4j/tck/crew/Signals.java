package org.ep4j.tck.crew;

import java.time.Duration;
import java.util.Locale;

/** Stops processes and lets them continue. */
public final class Signals {
    private static final Duration LONGEST = Duration.ofSeconds(30);

    private Signals() {}

    /** Stops this process (SIGSTOP). Returns once it continues. */
    public static void stopThisProcess() {
        Shell.run("kill -STOP " + ProcessHandle.current().pid(), LONGEST);
    }

    /** Stops this process for a time. Returns once it continues. */
    public static void pauseThisProcess(Duration time) {
        long pid = ProcessHandle.current().pid();
        Shell.run(
                String.format(Locale.ROOT, "kill -STOP %d; sleep %.3f; kill -CONT %d", pid, time.toNanos() / 1e9, pid),
                LONGEST);
    }

    /** Lets a stopped process continue (SIGCONT); one that runs is left alone. */
    public static void resume(long pid) {
        Shell.run("kill -CONT " + pid, LONGEST);
    }
}
