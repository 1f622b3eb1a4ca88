package org.ep4j.engine.bootstrap;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** {@link RankMain} in a JVM of its own, as the test sees it. */
final class RankProcess implements AutoCloseable {
    private final Process process;
    private final LinkedBlockingQueue<String> output = new LinkedBlockingQueue<>();
    /** What it logs, which is no answer. */
    private final List<String> errors = new CopyOnWriteArrayList<>();

    RankProcess(TcpSettings settings) {
        this(settings, List.of(), Map.of());
    }

    /**
     * A rank that another program starts.
     *
     * @param starter program and arguments before those of the JVM
     * @param variables more environment variables
     */
    RankProcess(TcpSettings settings, List<String> starter, Map<String, String> variables) {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        List<String> command = new ArrayList<>(starter);
        command.addAll(
                List.of(java, "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classPath, RankMain.class.getName()));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment()
                .putAll(Map.of(
                        "RANK", "" + settings.rank(),
                        "WORLD_SIZE", "" + settings.size(),
                        "MASTER_ADDR", settings.host(),
                        "MASTER_PORT", "" + settings.port(),
                        "EP_BOOTSTRAP_SECRET", settings.secret().text(),
                        "EP_BOOTSTRAP_HEARTBEAT", settings.heartbeat().toMillis() + "ms",
                        "EP_BOOTSTRAP_HEARTBEAT_TIMEOUT", settings.silence().toMillis() + "ms",
                        "EP_BOOTSTRAP_LINGER", settings.linger().toMillis() + "ms"));
        builder.environment().putAll(variables);
        builder.environment().remove("TORCHELASTIC_USE_AGENT_STORE");
        builder.environment().remove("EP_BOOTSTRAP_PORT");
        try {
            process = builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        read(process.getInputStream(), output, "rank-process-" + settings.rank());
        read(process.getErrorStream(), errors, "rank-process-errors-" + settings.rank());
    }

    private static void read(InputStream from, Collection<String> to, String name) {
        Thread reader = new Thread(
                () -> {
                    try (var lines = new BufferedReader(new InputStreamReader(from, UTF_8))) {
                        String line = lines.readLine();
                        while (line != null) {
                            to.add(line);
                            line = lines.readLine();
                        }
                    } catch (IOException e) {
                        to.add("broken " + e.getMessage());
                    }
                },
                name);
        reader.setDaemon(true);
        reader.start();
    }

    /** The next line that the process prints; an error with what it logged when none comes. */
    String next() {
        try {
            String line = output.poll(Ranks.LONG.toSeconds() * 2, TimeUnit.SECONDS);
            if (line == null) {
                throw new AssertionError("process " + process.pid() + " said nothing; alive: " + process.isAlive()
                        + "; it logged " + errors);
            }
            return line;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    void send(String command) {
        try {
            process.getOutputStream().write((command + "\n").getBytes(UTF_8));
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String ask(String command) {
        send(command);
        return next();
    }

    /** SIGKILL. */
    void kill() {
        process.destroyForcibly();
    }

    /** Sends a signal by name, such as STOP. */
    void signal(String name) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + name, "" + process.pid()).start();
            if (!kill.waitFor(10, TimeUnit.SECONDS) || kill.exitValue() != 0) {
                throw new AssertionError("kill -" + name + " did not work");
            }
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    boolean alive() {
        return process.isAlive();
    }

    /** Waits for the end and gives the exit status. */
    int exit(Duration deadline) {
        try {
            if (!process.waitFor(deadline.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new AssertionError("process " + process.pid() + " did not end in " + deadline + "; it said "
                        + output + " and logged " + errors);
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
