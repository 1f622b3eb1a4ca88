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
import org.ep4j.cli.launch.JavaCommand;
import org.ep4j.cli.launch.LaunchSpec;
import org.ep4j.cli.launch.LocalRanks;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.Failed;
import org.ep4j.cli.rank.RankMessage.Joined;
import org.ep4j.cli.rank.RankMessage.Sent;
import org.ep4j.cli.rank.WorkSpec;
import org.ep4j.cli.report.BenchReport.Environment;
import org.ep4j.cli.report.Figures;
import org.ep4j.cli.report.HostFacts;
import picocli.CommandLine.Model.CommandSpec;
import tools.jackson.databind.json.JsonMapper;

/** Runs a {@link WorkSpec} on rank processes of this machine and collects what they report. */
final class Work {
    private static final Duration GRACE = Duration.ofSeconds(5);

    /** Small and quiet: data lies outside the heap. */
    private static final List<String> JVM_OPTIONS =
            List.of("-XX:+UseSerialGC", "-Xms64m", "-Xmx1g", "-XX:MaxDirectMemorySize=4g", "-XX:-UsePerfData");

    /** With it the engine adds and casts rows on vectors; a JVM has it only when it is asked for. */
    private static final String VECTOR_MODULE = "jdk.incubator.vector";

    /** What a JVM says of such a module; nobody who reads the output of ep can do anything about it. */
    private static final String VECTOR_NOTICE = "WARNING: Using incubator modules: " + VECTOR_MODULE;

    private final PrefixedOutput output;
    private final Consumer<RankMessage> listener;
    private final Optional<LaunchedRanks> launched;
    private final Map<Integer, List<RankMessage>> received = new LinkedHashMap<>();
    private final List<Failed> failures = new ArrayList<>();

    /**
     * What came of it.
     *
     * @param joined what rank 0 said of the group
     * @param figures of every operation, in the order in which they were measured
     * @param sent by the backends of every rank that count it
     */
    record Outcome(Joined joined, List<Figures> figures, List<Sent> sent) {}

    /**
     * Lines that are not messages go to {@code output}; {@code listener} hears every message of rank 0, in order. Without
     * {@code launched} ranks the work starts its own.
     */
    Work(PrefixedOutput output, Consumer<RankMessage> listener, Optional<LaunchedRanks> launched) {
        this.launched = launched;
        this.output = output;
        this.listener = listener;
    }

    /** Makes the file through which ranks meet, runs, and removes the file; ranks of several hosts have none. */
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

    /**
     * Starts the ranks and waits for them.
     *
     * @throws RankFailedException when one failed, with what it said
     */
    Outcome run(WorkSpec spec) {
        List<List<RankMessage>> said = run(spec.ranks(), RankCommand.Kind.HOST, spec);
        return new Outcome(
                RankMessage.all(said, Joined.class).get(0), Figures.of(said), RankMessage.all(said, Sent.class));
    }

    /**
     * Starts ranks of {@code ep}, or takes those that were launched, and waits for them.
     *
     * @param spec what they do, of this kind
     * @return what each said, in the order of the ranks
     * @throws RankFailedException when one failed, with what it said
     */
    List<List<RankMessage>> run(int count, RankCommand.Kind kind, Object spec) {
        String work = JsonMapper.shared().writeValueAsString(spec);
        if (launched.isPresent()) {
            return launched.get().run(kind, work, listener);
        }
        LaunchSpec launch = new LaunchSpec(
                count,
                JavaCommand.of(jvmOptions(), Main.class.getName(), List.of(RankCommand.NAME, kind.name(), work)),
                0,
                GRACE,
                LaunchSpec.Input.OPEN_UNTIL_DEATH);
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

    /** Where and how a command measures, now. */
    static Environment environment(
            CommandSpec command,
            HostFacts host,
            List<String> backends,
            String device,
            Optional<LaunchedRanks> launched) {
        return new Environment(
                Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
                EpCommand.version(),
                List.copyOf(command.root().commandLine().getParseResult().originalArgs()),
                backends,
                device,
                host,
                launched.isPresent() ? ManagementFactory.getRuntimeMXBean().getInputArguments() : jvmOptions());
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
            List<Failed> said = received.getOrDefault(exit.rank(), List.of()).stream()
                    .filter(Failed.class::isInstance)
                    .map(Failed.class::cast)
                    .toList();
            Optional<Failed> why =
                    said.stream().findFirst().or(() -> failures.stream().findFirst());
            return new RankFailedException(
                    exit.describe() + why.map(f -> ": " + f.message()).orElse("; its output is above"),
                    why.map(Failed::exitCode).orElse(ExitCodes.RANK_FAILED));
        }
    }
}
