package org.ep4j.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.ranks.ProcessRankPool;

/**
 * Ranks that run as processes of this machine. They live and end together: when one fails, or this process is asked to
 * end, the others are terminated, and killed after the grace period, with the processes that they started.
 */
final class LocalRanks implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(LocalRanks.class.getName());

    /** Most ranks that are started on one machine. */
    static final int MAX_RANKS = 1024;

    private static final String SECRET = EpKeys.BOOTSTRAP_SECRET.environmentName();
    private static final int FIRST_PORT = 20_000;
    private static final int LAST_PORT = 32_000;
    private static final int PORT_TRIES = 100;

    /** Wait for the last output: 2 s in so many pauses, which take longer where this process gets no time to read it. */
    private static final int LAST_PAUSES = 200;

    private static final long PAUSE_MILLIS = 10;

    /**
     * Ranks to start.
     *
     * @param ranks number of processes
     * @param command program and arguments, the same for every rank
     * @param masterPort port of the rendezvous; 0 for a free one
     * @param grace time between asking a rank to end and killing it
     * @param input what ranks read from standard input
     */
    record Spec(int ranks, List<String> command, int masterPort, Duration grace, Input input) {
        Spec {
            if (ranks < 1 || ranks > MAX_RANKS) {
                throw new EpArgumentException(
                        "ranks", ranks, "in [1, " + MAX_RANKS + "]", "start as many ranks as the machine can run");
            }
            if (command.isEmpty()) {
                throw new EpArgumentException("command", "empty", "a program", "name the program after --");
            }
            if (masterPort < 0 || masterPort > 65535) {
                throw new EpArgumentException("masterPort", masterPort, "in [0, 65535]", "0 selects a free port");
            }
        }
    }

    /** Standard input of ranks. */
    enum Input {
        /** Rank 0 reads the standard input of the launcher, the others read nothing. */
        FIRST_RANK,
        /** Empty, but the pipe stays open for as long as the launcher lives, so ranks notice its death. */
        OPEN_UNTIL_DEATH
    }

    /** Stream of a line of output. */
    enum Stream {
        /** Standard output. */
        OUT,
        /** Standard error. */
        ERR
    }

    /** Takes the output of ranks, line by line. Called from several threads at once. */
    @FunctionalInterface
    interface Output {
        /** One line, without its end. */
        void line(int rank, Stream stream, String text);
    }

    /**
     * End of a rank, or of the whole job.
     *
     * @param rank of a job the first rank that failed, or -1 when none did
     * @param code its exit code, 128 + signal where a signal ended it; 0 when it did not fail
     */
    record Exit(int rank, int code) {
        private static final Exit OK = new Exit(-1, 0);

        boolean ok() {
            return code == 0;
        }

        /** Returns a text such as {@code rank 2 ended with exit code 7}. */
        String describe() {
            return "rank " + rank
                    + (code > 128 && code < 160
                            ? " was killed by signal " + (code - 128)
                            : " ended with exit code " + code);
        }
    }

    private final Spec spec;
    private final List<Process> processes = new ArrayList<>();
    private final List<Thread> pumps = new ArrayList<>();
    private final List<CompletableFuture<Void>> endings = new ArrayList<>();
    private final BlockingQueue<Exit> exits = new LinkedBlockingQueue<>();
    private final Thread hook = new Thread(this::end, "ep-ranks-end");

    private LocalRanks(Spec spec) {
        this.spec = spec;
    }

    /**
     * Starts all ranks.
     *
     * @throws EpUnavailableException when the command cannot be started; none is left running then
     */
    static LocalRanks start(Spec spec, Output output) {
        LocalRanks ranks = new LocalRanks(spec);
        Runtime.getRuntime().addShutdownHook(ranks.hook);
        try {
            int port = spec.masterPort() == 0 ? freePort() : spec.masterPort();
            String secret = System.getenv().getOrDefault(SECRET, ProcessRankPool.randomSecret());
            for (int rank = 0; rank < spec.ranks(); rank++) {
                ranks.startOne(rank, port, secret, output);
            }
            return ranks;
        } catch (IOException e) {
            ranks.close();
            throw new EpUnavailableException(
                    "cannot start \"" + String.join(" ", spec.command()) + "\": " + e.getMessage()
                            + "; check that the program exists and may be executed",
                    e);
        }
    }

    private void startOne(int rank, int port, String secret, Output output) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(spec.command());
        builder.environment().putAll(ProcessRankPool.environment(rank, spec.ranks(), port));
        builder.environment().put(SECRET, secret);
        boolean inheritInput = spec.input() == Input.FIRST_RANK && rank == 0;
        if (inheritInput) {
            builder.redirectInput(ProcessBuilder.Redirect.INHERIT);
        }
        Process process = builder.start();
        synchronized (processes) {
            processes.add(process);
        }
        if (spec.input() == Input.FIRST_RANK && rank != 0) {
            process.getOutputStream().close();
        }
        pump(rank, Stream.OUT, process.getInputStream(), output);
        pump(rank, Stream.ERR, process.getErrorStream(), output);
        endings.add(process.onExit().thenAccept(p -> exits.add(new Exit(rank, p.exitValue()))));
    }

    private void pump(int rank, Stream stream, InputStream source, Output output) {
        Thread thread = new Thread(
                () -> {
                    try (var reader = new BufferedReader(new InputStreamReader(source, StandardCharsets.UTF_8))) {
                        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                            output.line(rank, stream, line);
                        }
                    } catch (IOException e) {
                        // The process ended and its pipe with it; all output before that has been passed on.
                        LOG.log(System.Logger.Level.DEBUG, "output of rank " + rank + " ended", e);
                    }
                },
                "ep-rank-" + rank + "-" + stream);
        thread.setDaemon(true);
        thread.start();
        pumps.add(thread);
    }

    /** Waits for all ranks; when one fails, ends the others. */
    Exit await() {
        Exit result = Exit.OK;
        try {
            for (int left = spec.ranks(); left > 0; left--) {
                Exit exit = exits.take();
                if (!exit.ok() && result.ok()) {
                    result = exit;
                    end();
                }
            }
            drain();
            return result;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            end();
            throw new EpException("interrupted while waiting for the ranks", e);
        }
    }

    /** Waits until what the ranks printed is passed on; not for long, since a process that they left may hold the pipe. */
    private void drain() throws InterruptedException {
        int pauses = 0;
        for (Thread pump : pumps) {
            while (pump.isAlive() && pauses < LAST_PAUSES) {
                pump.join(PAUSE_MILLIS);
                pauses++;
            }
        }
    }

    private void end() {
        end(started(), spec.grace());
    }

    private List<Process> started() {
        synchronized (processes) {
            return List.copyOf(processes);
        }
    }

    /** Asks every process to end, and kills what is left of them, and of what they started, after the grace period. */
    static void end(List<Process> processes, Duration grace) {
        Set<ProcessHandle> all = new LinkedHashSet<>();
        for (Process process : processes) {
            all.add(process.toHandle());
            // Looked up now: a process that its parent left behind can no longer be found.
            process.descendants().forEach(all::add);
        }
        processes.stream().filter(Process::isAlive).forEach(Process::destroy);
        long deadline = System.nanoTime() + grace.toNanos();
        boolean asked = false;
        while (all.stream().anyMatch(ProcessHandle::isAlive) && System.nanoTime() < deadline) {
            if (!asked && ended(processes)) {
                all.forEach(ProcessHandle::destroy);
                asked = true;
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
        all.forEach(handle -> {
            handle.descendants().forEach(ProcessHandle::destroyForcibly);
            handle.destroyForcibly();
        });
    }

    private static boolean ended(List<Process> processes) {
        return processes.stream().noneMatch(Process::isAlive);
    }

    /** Ends what still runs. A second call does nothing. */
    @Override
    public void close() {
        if (!ended(started())) {
            end();
        }
        removeHook(hook);
    }

    /** Removes what the JVM would do at its end. */
    static void removeHook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM is going down; the hook does what it is there for.
            LOG.log(System.Logger.Level.DEBUG, "closed during shutdown", e);
        }
    }

    /**
     * Returns a free port. It is below those that Linux gives to sockets which name no port (from 32768 by default): one of
     * those could be taken by any connection before rank 0 listens.
     */
    private static int freePort() throws IOException {
        BindException inUse = new BindException("no port was tried");
        for (int tries = 0; tries < PORT_TRIES; tries++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST_PORT, LAST_PORT);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (BindException e) {
                inUse = e;
            }
        }
        throw inUse;
    }

    /**
     * Returns the command that runs a class in another JVM, with this process's class path and options.
     *
     * @param options more JVM options; they win over the inherited ones
     * @param mainClass class to run
     * @param arguments its arguments
     */
    static List<String> javaCommand(List<String> options, String mainClass, List<String> arguments) {
        return javaCommand(options, System.getProperty("java.class.path", ""), mainClass, arguments);
    }

    /** Returns the same command with another class path. */
    static List<String> javaCommand(List<String> options, String classPath, String mainClass, List<String> arguments) {
        List<String> command = new ArrayList<>();
        Path java = Path.of(System.getProperty("java.home", "."), "bin", "java");
        command.add(Files.isExecutable(java) ? java.toString() : "java");
        command.addAll(inheritedOptions());
        // Passed from JDK 22 on; JDK 24 and later ask for it. The manifest attribute counts only with "java -jar".
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(options);
        command.add("-cp");
        command.add(classPath);
        command.add(mainClass);
        command.addAll(arguments);
        return List.copyOf(command);
    }

    /** Returns the options of this JVM that JVMs which it starts inherit. */
    static List<String> inheritedOptions() {
        return ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(LocalRanks::inherited)
                .toList();
    }

    /** Returns whether an option is inherited: settings are; agents and debuggers would fight over their port. */
    private static boolean inherited(String option) {
        return (option.startsWith("-D") || option.startsWith("-X") || option.startsWith("--add-"))
                && !option.startsWith("-Xrun")
                && !option.startsWith("-Xdebug")
                && !option.startsWith("-Xmx")
                && !option.startsWith("-Xms");
    }
}
