package org.ep4j.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfig;
import org.ep4j.EpEngine;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.cli.ExitCodes.RankFailedException;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.BootstrapProvider;
import org.ep4j.tck.Conformance;
import org.ep4j.tck.ConformanceReport;
import org.ep4j.tck.ConformanceRequest;
import org.ep4j.tck.RuleResult;
import picocli.CommandLine.Model.CommandSpec;

/**
 * Ranks that a launcher (torchrun, mpirun, srun) has started, each with the same command line, and of which this process is
 * one. Rank 0 conducts and prints; the others do the work that it hands out.
 */
final class LaunchedRanks implements AutoCloseable {
    /** Longest time between two pieces of work: one that runs. A conductor that dies is noticed at once. */
    private static final Duration PATIENCE = Duration.ofDays(1);

    /** Work that is the conformance kit. */
    private static final String KIT = "conformance";

    private static final Duration ENDING = Duration.ofSeconds(5);
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private final Bootstrap base;
    private final List<String> hosts;
    private int works;
    private boolean broken;

    private LaunchedRanks(Bootstrap base, List<String> hosts) {
        this.base = base;
        this.hosts = List.copyOf(hosts);
    }

    /**
     * Joins the others; empty where no launcher has started this process. Collective.
     *
     * @throws org.ep4j.EpUnavailableException where one has that does not tell how to meet
     */
    static Optional<LaunchedRanks> join(Map<String, String> environment) {
        boolean launched = ServiceLoader.load(BootstrapProvider.class, EpGroup.class.getClassLoader()).stream()
                .anyMatch(provider -> provider.get().detects(environment));
        if (!launched) {
            MuteLaunchers.refuse(environment);
            return Optional.empty();
        }
        EpConfig config = EpConfig.load();
        return Optional.of(
                meet(EpEngine.installed().fromEnvironment(environment, config), EpKeys.SETUP_TIMEOUT.get(config)));
    }

    /**
     * Learns which ranks share a host.
     *
     * @param base is closed with what is returned, and where this fails
     * @param longest wait: all have met in {@code base} by now, but their processes may be slow to go on
     */
    static LaunchedRanks meet(Bootstrap base, Duration longest) {
        boolean met = false;
        try {
            List<String> hosts = base.allGather("ep/hosts", host().getBytes(UTF_8), longest).stream()
                    .map(bytes -> new String(bytes, UTF_8))
                    .toList();
            met = true;
            return new LaunchedRanks(base, hosts);
        } finally {
            if (!met) {
                base.close();
            }
        }
    }

    /**
     * Runs a command that has ranks: where a launcher has started them, on rank 0, while the others serve; else here, and the
     * command starts its own. Gives the exit code.
     */
    static int orOwn(Map<String, String> environment, ToIntFunction<Optional<LaunchedRanks>> command) {
        Optional<LaunchedRanks> launched = join(environment);
        if (launched.isEmpty()) {
            return command.applyAsInt(launched);
        }
        try (LaunchedRanks ranks = launched.get()) {
            return ranks.conducts() ? command.applyAsInt(launched) : ranks.serve();
        }
    }

    /** True on rank 0. */
    private boolean conducts() {
        return base.rank() == 0;
    }

    int size() {
        return base.size();
    }

    boolean onOneHost() {
        return new HashSet<>(hosts).size() == 1;
    }

    /** The number of ranks, which an option may repeat but not change. */
    int ranks(CommandSpec command, int option) {
        boolean said = command.commandLine().getParseResult().hasMatchedOption("--ranks");
        if (said && option != size()) {
            throw new EpArgumentException(
                    "--ranks", option, size() + ", the number of launched ranks", "leave --ranks out under a launcher");
        }
        return size();
    }

    /**
     * Does a piece of work on all ranks, this one included.
     *
     * @param work of this kind, as JSON
     * @param listener hears every message of this rank
     * @return what each rank said, in their order
     * @throws RankFailedException when one failed, with what it said
     * @throws EpPeerLostException when one is gone
     */
    List<List<RankMessage>> run(RankCommand.Kind kind, String work, Consumer<RankMessage> listener) {
        handOut(kind + " " + work);
        List<List<RankMessage>> said = work(kind, work, listener);
        said.stream()
                .flatMap(List::stream)
                .filter(RankMessage.Failed.class::isInstance)
                .map(RankMessage.Failed.class::cast)
                .min(LaunchedRanks::causeFirst)
                .ifPresent(why -> {
                    throw new RankFailedException("a rank failed: " + why.message(), why.exitCode());
                });
        return said;
    }

    /** Runs the conformance kit on all ranks, this one included. */
    ConformanceReport conformance(ConformanceRequest request, Consumer<RuleResult> progress) {
        handOut(KIT);
        try (Bootstrap group = subgroup()) {
            return Conformance.run(request, group, progress);
        }
    }

    /** Does what rank 0 hands out, until it has no more; for the other ranks. Gives their exit code. */
    private int serve() {
        try {
            for (String work = handOut(""); !work.isEmpty(); work = handOut("")) {
                if (work.equals(KIT)) {
                    try (Bootstrap group = subgroup()) {
                        Conformance.serve(group);
                    }
                } else {
                    String[] parts = work.split(" ", 2);
                    work(RankCommand.Kind.valueOf(parts[0]), parts[1], message -> {});
                }
            }
            return ExitCodes.OK;
        } catch (EpPeerLostException e) {
            if (e.failure().peer() == 0) {
                throw e;
            }
            // Rank 0 tells it.
            return ExitCodes.RANK_FAILED;
        }
    }

    /** Gives what rank 0 says. */
    private String handOut(String mine) {
        List<byte[]> all = inStep("ep/works/" + works++, mine, mine.isEmpty() && conducts() ? ENDING : PATIENCE);
        return new String(all.get(0), UTF_8);
    }

    private List<byte[]> inStep(String tag, String mine, Duration deadline) {
        boolean done = false;
        try {
            List<byte[]> all = base.allGather(tag, mine.getBytes(UTF_8), deadline);
            done = true;
            return all;
        } finally {
            broken |= !done;
        }
    }

    private List<List<RankMessage>> work(RankCommand.Kind kind, String work, Consumer<RankMessage> listener) {
        List<RankMessage> mine = Collections.synchronizedList(new ArrayList<>());
        Consumer<RankMessage> sink = message -> {
            listener.accept(message);
            if (!(message instanceof RankMessage.Progress)) {
                mine.add(message);
            }
        };
        try (Bootstrap group = subgroup()) {
            RankCommand.run(kind, work, group, localRank(), sink);
        } catch (EpException e) {
            mine.add(new RankMessage.Failed(
                    e.getClass().getSimpleName(), "rank " + base.rank() + ": " + e.getMessage(), ExitCodes.of(e)));
        }
        String text = String.join("\n", mine.stream().map(RankMessage::encode).toList());
        return inStep("ep/said/" + works, text, PATIENCE).stream()
                .map(LaunchedRanks::messages)
                .toList();
    }

    private Bootstrap subgroup() {
        return base.subgroup(
                "ep/group/" + works, IntStream.range(0, size()).boxed().toList());
    }

    private static List<RankMessage> messages(byte[] text) {
        return Arrays.stream(new String(text, UTF_8).split("\n", -1))
                .flatMap(line -> RankMessage.decode(line).stream())
                .toList();
    }

    /** A rank that others wait for makes them fail, too; it is the one to name. */
    private static int causeFirst(RankMessage.Failed one, RankMessage.Failed other) {
        return Boolean.compare(follows(one), follows(other));
    }

    private static boolean follows(RankMessage.Failed failed) {
        return failed.type().equals(EpPeerLostException.class.getSimpleName())
                || failed.type().equals(EpTimeoutException.class.getSimpleName());
    }

    /** This rank's number among those of its host. */
    private int localRank() {
        return (int) hosts.subList(0, base.rank()).stream()
                .filter(hosts.get(base.rank())::equals)
                .count();
    }

    private static String host() {
        try {
            return Files.readString(BOOT_ID, UTF_8).strip();
        } catch (IOException e) {
            return "unknown";
        }
    }

    /** Rank 0 lets the others go. */
    @Override
    public void close() {
        try {
            if (conducts() && !broken) {
                handOut("");
            }
        } catch (EpException e) {
            System.getLogger(LaunchedRanks.class.getName())
                    .log(System.Logger.Level.DEBUG, "the other ranks have already ended", e);
        } finally {
            base.close();
        }
    }
}
