package org.ep4j.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.ep4j.EpResourceException;
import org.ep4j.cli.ExitCodes.RankFailedException;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.Failed;
import org.ep4j.cli.rank.RankMessage.Joined;
import org.ep4j.cli.rank.RankMessage.Sent;
import org.ep4j.cli.report.BenchReport.Environment;
import org.ep4j.cli.report.Figures;
import org.ep4j.cli.report.HostFacts;
import org.ep4j.cli.report.ProgressView;
import org.ep4j.plan.Fingerprint;
import picocli.CommandLine.Model.CommandSpec;
import tools.jackson.databind.json.JsonMapper;

/** Runs the work of a command on its ranks, which are started here or were launched, and collects their messages. */
final class RankJob {
    private static final Duration GRACE = Duration.ofSeconds(5);

    /** Small and quiet: data lies outside the heap. */
    private static final List<String> JVM_OPTIONS =
            List.of("-XX:+UseSerialGC", "-Xms64m", "-Xmx1g", "-XX:MaxDirectMemorySize=4g", "-XX:-UsePerfData");

    /** Module with which the engine adds and casts rows on vectors; a JVM has it only if an option names it. */
    private static final String VECTOR_MODULE = "jdk.incubator.vector";

    /** Notice that a JVM prints about such a module, which readers of the output of ep cannot change. */
    private static final String VECTOR_NOTICE = "WARNING: Using incubator modules: " + VECTOR_MODULE;

    private final PrefixedOutput output;
    private final Consumer<RankMessage> listener;
    private final Map<Integer, List<RankMessage>> received = new LinkedHashMap<>();
    private final List<Failed> failures = new ArrayList<>();

    /**
     * Result of a demo or bench.
     *
     * @param joined message of rank 0 about the group
     * @param figures of every operation, in the order in which they were measured
     * @param sent by the backends of every rank that count it
     */
    record Outcome(Joined joined, List<Figures> figures, List<Sent> sent) {}

    /** Lines that are not messages go to {@code output}; {@code listener} gets every message of rank 0, in order. */
    private RankJob(PrefixedOutput output, Consumer<RankMessage> listener) {
        this.output = output;
        this.listener = listener;
    }

    /** Makes the file of the barrier before each measurement, runs, and removes the file; ranks of several hosts have none. */
    static <T> T withBarrierFile(Optional<LaunchedRanks> launched, Function<String, T> action) {
        if (!launched.map(LaunchedRanks::onOneHost).orElse(true)) {
            return action.apply("");
        }
        Path shared = Path.of("/dev/shm");
        Path folder = Files.isDirectory(shared) && Files.isWritable(shared)
                ? shared
                : Path.of(System.getProperty("java.io.tmpdir", "/tmp"));
        Path file;
        try {
            file = Files.createTempFile(folder, "ep-barrier-", "");
        } catch (IOException e) {
            throw new EpResourceException(
                    "cannot create a file in " + folder + " for the barrier before each measurement: "
                            + e.getMessage()
                            + "; remove the files that earlier jobs left in the folder, or make the folder bigger (as root: mount -o"
                            + " remount,size=8g,nr_inodes=1m " + folder + ")",
                    e);
        }
        try {
            return action.apply(file.toString());
        } finally {
            remove(file);
        }
    }

    static void remove(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a demo or bench; see {@link #run}. */
    static Outcome exchange(CommandSpec command, Optional<LaunchedRanks> launched, ExchangeSpec spec) {
        List<List<RankMessage>> messages = run(command, launched, spec.ranks(), RankCommand.Kind.HOST, spec);
        return new Outcome(
                RankMessage.all(messages, Joined.class).get(0),
                Figures.of(messages),
                RankMessage.all(messages, Sent.class));
    }

    /**
     * Starts ranks of {@code ep}, or takes those that were launched, and waits for them; shows their progress.
     *
     * @param spec of work of this kind
     * @return messages of each rank, in the order of the ranks
     * @throws RankFailedException when one failed, with its message
     */
    static List<List<RankMessage>> run(
            CommandSpec command, Optional<LaunchedRanks> launched, int count, RankCommand.Kind kind, Object spec) {
        String work = JsonMapper.shared().writeValueAsString(spec);
        try (ProgressView progress =
                ProgressView.of(command.name(), command.commandLine().getOut())) {
            return launched.isPresent()
                    ? launched.get().run(kind, work, progress::step)
                    : new RankJob(new PrefixedOutput(command.commandLine()), progress::step).run(count, kind, work);
        }
    }

    private List<List<RankMessage>> run(int count, RankCommand.Kind kind, String work) {
        LocalRanks.Spec launch = new LocalRanks.Spec(
                count,
                LocalRanks.javaCommand(
                        jvmOptions(), Main.class.getName(), List.of(RankCommand.NAME, kind.name(), work)),
                0,
                GRACE,
                LocalRanks.Input.OPEN_UNTIL_DEATH);
        try (LocalRanks ranks = LocalRanks.start(launch, this::line)) {
            LocalRanks.Exit exit = ranks.await();
            if (!exit.ok()) {
                throw failure(exit);
            }
        }
        List<List<RankMessage>> all = new ArrayList<>();
        synchronized (received) {
            for (int rank = 0; rank < count; rank++) {
                all.add(List.copyOf(received.getOrDefault(rank, List.of())));
            }
        }
        return all;
    }

    /**
     * Describes where and how a command measures.
     *
     * @param fingerprint of rank 0
     */
    static Environment environment(
            CommandSpec command,
            HostFacts host,
            List<String> backends,
            String device,
            Fingerprint fingerprint,
            Optional<LaunchedRanks> launched) {
        return new Environment(
                Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
                EpCommand.version(),
                List.copyOf(command.root().commandLine().getParseResult().originalArgs()),
                backends,
                device,
                host,
                launched.isPresent() ? ManagementFactory.getRuntimeMXBean().getInputArguments() : jvmOptions(),
                Optional.of(fingerprint));
    }

    /** Options of the JVM of every rank that is started. */
    private static List<String> jvmOptions() {
        List<String> options = new ArrayList<>(JVM_OPTIONS);
        if (ModuleFinder.ofSystem().find(VECTOR_MODULE).isPresent()) {
            options.add("--add-modules=" + VECTOR_MODULE);
        }
        return options;
    }

    private void line(int rank, LocalRanks.Stream stream, String text) {
        Optional<RankMessage> message = stream == LocalRanks.Stream.OUT ? RankMessage.decode(text) : Optional.empty();
        if (message.isEmpty() && text.equals(VECTOR_NOTICE)) {
            return;
        }
        if (message.isEmpty()) {
            output.line(rank, LocalRanks.Stream.ERR, text);
            return;
        }
        synchronized (received) {
            received.computeIfAbsent(rank, r -> new ArrayList<>()).add(message.get());
            if (message.get() instanceof Failed failed) {
                failures.add(failed);
            }
            if (rank == 0) {
                listener.accept(message.get());
            }
        }
    }

    private RuntimeException failure(LocalRanks.Exit exit) {
        synchronized (received) {
            List<RankMessage> own = received.getOrDefault(exit.rank(), List.of());
            Optional<Failed> why = RankMessage.all(List.of(own), Failed.class).stream()
                    .findFirst()
                    .or(() -> failures.stream().findFirst());
            return new RankFailedException(
                    exit.describe() + why.map(f -> ": " + f.message()).orElse("; its output is above"),
                    why.map(Failed::exitCode).orElse(ExitCodes.RANK_FAILED));
        }
    }
}
