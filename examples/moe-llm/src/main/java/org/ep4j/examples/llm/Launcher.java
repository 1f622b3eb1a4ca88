package org.ep4j.examples.llm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Starts ranks as processes of this machine, with torchrun's variables, and collects what they say. Unlike {@code ./ep run}
 * it lets the others go on when one is lost.
 */
final class Launcher implements AutoCloseable {
    /** What happened on a rank. */
    sealed interface Event {
        /** A line on standard output. */
        record Line(int rank, String text) implements Event {}

        /** A line on standard error. */
        record Complaint(int rank, String text) implements Event {}

        /** The end of the process, after its last line. */
        record Exit(int rank, int code) implements Event {}
    }

    private final List<Process> processes = new ArrayList<>();
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private final Thread hook = new Thread(this::kill, "kill-ranks");

    /** @param command of every rank */
    Launcher(List<String> command, int ranks) {
        byte[] secret = new byte[32];
        new SecureRandom().nextBytes(secret);
        Runtime.getRuntime().addShutdownHook(hook);
        try {
            int port = freePort();
            for (int rank = 0; rank < ranks; rank++) {
                ProcessBuilder builder = new ProcessBuilder(command);
                builder.environment()
                        .putAll(Map.of(
                                "RANK", Integer.toString(rank),
                                "LOCAL_RANK", Integer.toString(rank),
                                "WORLD_SIZE", Integer.toString(ranks),
                                "LOCAL_WORLD_SIZE", Integer.toString(ranks),
                                "MASTER_ADDR", "127.0.0.1",
                                "MASTER_PORT", Integer.toString(port),
                                "EP_BOOTSTRAP_SECRET", HexFormat.of().formatHex(secret)));
                Process process = builder.start();
                processes.add(process);
                follow(rank, process);
            }
        } catch (IOException e) {
            close();
            throw new UncheckedIOException("a rank cannot be started", e);
        }
    }

    private void follow(int rank, Process process) {
        Thread errors = reader(process.errorReader(StandardCharsets.UTF_8), text -> new Event.Complaint(rank, text));
        Thread lines = reader(
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)),
                text -> new Event.Line(rank, text));
        Thread end = new Thread(
                () -> {
                    try {
                        int code = process.waitFor();
                        lines.join();
                        errors.join();
                        events.add(new Event.Exit(rank, code));
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "rank-" + rank + "-end");
        end.setDaemon(true);
        end.start();
    }

    private interface Kind {
        Event of(String text);
    }

    private Thread reader(BufferedReader source, Kind kind) {
        Thread thread = new Thread(
                () -> {
                    try (source) {
                        for (String line = source.readLine(); line != null; line = source.readLine()) {
                            events.add(kind.of(line));
                        }
                    } catch (IOException e) {
                        // The process was killed and its pipe with it; what it had said before was passed on.
                        System.getLogger("org.ep4j.examples.llm").log(System.Logger.Level.DEBUG, "a pipe ended", e);
                    }
                },
                "rank-output");
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** The next event of any rank. */
    Event next() throws InterruptedException {
        return events.take();
    }

    private void kill() {
        processes.forEach(Process::destroyForcibly);
    }

    @Override
    public void close() {
        kill();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            System.getLogger("org.ep4j.examples.llm").log(System.Logger.Level.DEBUG, "closed during shutdown", e);
        }
    }

    /** Returns a free port below those that Linux gives to sockets which name none (from 32768 by default). */
    private static int freePort() throws IOException {
        BindException inUse = new BindException("no port was tried");
        for (int tries = 0; tries < 100; tries++) {
            int port = ThreadLocalRandom.current().nextInt(20_000, 32_000);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (BindException e) {
                inUse = e;
            }
        }
        throw inUse;
    }
}
