package org.ep4j.cli.soak;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/** A rank that is a process. */
final class ProcessRank implements RankHandle {
    private static final int LAST_SECONDS = 5;

    private final int number;
    private final Process process;
    private final PrintWriter log;

    /**
     * Starts it.
     *
     * @param command of its JVM
     * @param log file for what it prints besides answers
     * @param events gets its answers and its end
     */
    ProcessRank(
            int number, List<String> command, Map<String, String> environment, Path log, BlockingQueue<Event> events) {
        this.number = number;
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().putAll(environment);
        try {
            this.log = new PrintWriter(Files.newBufferedWriter(log), true);
            this.process = builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start a rank, or write its log " + log, e);
        }
        reader("out", process.getInputStream(), events);
        reader("err", process.getErrorStream(), events);
    }

    private void reader(String name, InputStream stream, BlockingQueue<Event> events) {
        boolean answers = name.equals("out");
        Thread thread = new Thread(
                () -> {
                    try (var lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                            take(line, events);
                        }
                    } catch (IOException e) {
                        log("reading its " + name + " failed: " + e);
                    } finally {
                        if (answers) {
                            events.add(new Event(this, Optional.empty()));
                        }
                    }
                },
                "ep-soak-rank-" + number + "-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    private void take(String line, BlockingQueue<Event> events) {
        Optional<Answer> answer = Answer.decode(line);
        log(line);
        answer.ifPresent(a -> events.add(new Event(this, answer)));
    }

    private void log(String line) {
        log.println(System.currentTimeMillis() + " " + line);
    }

    @Override
    public int number() {
        return number;
    }

    @Override
    public void send(Order order) {
        String line = order.encode();
        log(order.shown().encode());
        try {
            var stdin = process.getOutputStream();
            stdin.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            stdin.flush();
        } catch (IOException e) {
            // Its end is an event of its own.
            log("sending to it failed: " + e);
        }
    }

    @Override
    public void kill() {
        log("SIGKILL");
        process.destroyForcibly();
    }

    @Override
    public void stop() {
        signal("STOP");
    }

    @Override
    public void resume() {
        signal("CONT");
    }

    private void signal(String name) {
        log("SIG" + name);
        try {
            Process kill = new ProcessBuilder("sh", "-c", "kill -" + name + " " + process.pid())
                    .redirectErrorStream(true)
                    .start();
            boolean sent = kill.waitFor(LAST_SECONDS, TimeUnit.SECONDS) && kill.exitValue() == 0;
            if (!sent && !process.isAlive()) {
                // It has crashed, which its end tells.
                log("there is no process any more");
            } else if (!sent) {
                throw new IllegalStateException("cannot send SIG" + name + " to rank process " + process.pid());
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot send a signal", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while sending a signal", e);
        }
    }

    @Override
    public String exit() {
        try {
            return process.waitFor(LAST_SECONDS, TimeUnit.SECONDS)
                    ? "exit code " + process.exitValue()
                    : "still running";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "unknown exit";
        }
    }

    @Override
    public void close() {
        // A stopped process does not read that its input has ended.
        process.destroyForcibly();
        exit();
        log.close();
    }
}
