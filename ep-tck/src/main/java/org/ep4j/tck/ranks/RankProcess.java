package org.ep4j.tck.ranks;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.ep4j.tck.oracle.Patience;

/** The process of one rank, as its pool sees it. */
final class RankProcess {
    private static final Duration EXIT = Duration.ofSeconds(60);
    private static final int KEPT_LINES = 60;

    /** Options of this JVM that ranks inherit, since they change which code the engine runs. */
    private static final List<String> INHERITED =
            List.of("--enable-native-access", "--add-modules", "-Dep.", "-XX:SharedArchiveFile");

    /** A message of a rank; empty when its standard output has ended. */
    record Event(int rank, Optional<RankProtocol.Message> message) {}

    private final int rank;
    private final Process process;
    private final Deque<String> output = new ArrayDeque<>();

    RankProcess(int rank, Map<String, String> environment, String heap, BlockingQueue<Event> events) {
        this.rank = rank;
        ProcessBuilder builder = new ProcessBuilder(command(heap));
        builder.environment().putAll(environment);
        try {
            this.process = builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start a JVM for rank " + rank, e);
        }
        reader(
                "out",
                process.getInputStream(),
                line -> RankProtocol.decode(line)
                        .ifPresentOrElse(m -> events.add(new Event(rank, Optional.of(m))), () -> keep(line)),
                () -> events.add(new Event(rank, Optional.empty())));
        reader("err", process.getErrorStream(), this::keep, () -> {});
    }

    private static List<String> command(String heap) {
        List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
        // Ranks outnumber CPU cores: the C1 compiler and the serial collector leave the cores to the exchanges.
        command.addAll(List.of("-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"));
        for (String argument : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (INHERITED.stream().anyMatch(argument::startsWith)) {
                command.add(argument);
            }
        }
        String modules = System.getProperty("jdk.module.path", "");
        String classes = System.getProperty("java.class.path", "");
        command.addAll(List.of(
                "-cp",
                modules.isEmpty() ? classes : modules + File.pathSeparator + classes,
                RankProcessMain.class.getName()));
        return command;
    }

    private void reader(String name, InputStream stream, Consumer<String> sink, Runnable atEnd) {
        Thread thread = new Thread(
                () -> {
                    try (var lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                            sink.accept(line);
                        }
                    } catch (IOException e) {
                        keep("reading its " + name + " failed: " + e);
                    } finally {
                        atEnd.run();
                    }
                },
                "tck-rank-" + rank + "-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    private synchronized void keep(String line) {
        if (output.size() == KEPT_LINES) {
            output.removeFirst();
        }
        output.addLast(line);
    }

    /** Returns the last lines that the process printed besides messages. */
    synchronized String printed() {
        return output.isEmpty() ? "" : "\nit printed:\n  " + String.join("\n  ", output);
    }

    /** Sends a message. A process that has ended is found by its own event. */
    void send(RankProtocol.Message message) {
        try {
            var stdin = process.getOutputStream();
            stdin.write((RankProtocol.encode(message) + "\n").getBytes(StandardCharsets.UTF_8));
            stdin.flush();
        } catch (IOException e) {
            keep("sending to it failed: " + e);
        }
    }

    long pid() {
        return process.pid();
    }

    void kill() {
        process.destroyForcibly();
    }

    String exit() {
        try {
            boolean ended = process.waitFor(Patience.scaled(EXIT).toMillis(), TimeUnit.MILLISECONDS);
            return ended ? "exit code " + process.exitValue() : "still running";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "unknown exit";
        }
    }

    /** Closes the standard input of the process, at which it ends. */
    void endInput() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            keep("closing its input failed: " + e);
        }
    }

    /** Waits for the end of the process, and forces it after a while. */
    void close() {
        try {
            if (!process.waitFor(5, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            process.destroyForcibly();
        }
    }
}
