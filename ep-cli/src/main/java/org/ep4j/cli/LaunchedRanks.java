package org.ep4j.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfig;
import org.ep4j.EpEngine;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
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
 * one. Rank 0 runs the command and prints; the others do the work that it broadcasts.
 */
final class LaunchedRanks implements AutoCloseable {
    /** Longest time between two jobs, which is the time of one. The death of rank 0 is noticed at once. */
    private static final Duration JOB_DEADLINE = Duration.ofDays(1);

    /** Job that is the conformance kit. */
    private static final String KIT = "conformance";

    private static final Duration END_DEADLINE = Duration.ofSeconds(5);
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    /**
     * Variables with the number of processes. Tasks of the step, which {@code srun} alone sets, unlike {@code SLURM_NTASKS}: a batch
     * script has that, too, and is one process. Processes of the job as {@code mpiexec} of MPICH and Intel MPI and {@code srun
     * --mpi=pmi2} give them, and as {@code mpirun} of Open MPI does.
     */
    private static final List<String> SIZES = List.of("SLURM_STEP_NUM_TASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE");

    private static final List<String> PMIX = List.of("PMIX_RANK", "PMIX_NAMESPACE");

    /** Torchrun's variables: only all of them together make a rendezvous. Where one of the first two is set, PMIx is not used. */
    private static final List<String> TORCHRUN = List.of("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT");

    private final Bootstrap base;
    private final List<String> hosts;
    private int jobs;
    private boolean broken;

    private LaunchedRanks(Bootstrap base, List<String> hosts) {
        this.base = base;
        this.hosts = List.copyOf(hosts);
    }

    /**
     * Joins the others; empty where no launcher has started this process. Collective.
     *
     * @throws EpUnavailableException where a launcher has, but gives no rendezvous
     */
    static Optional<LaunchedRanks> join(Map<String, String> environment) {
        if (!detected(environment)) {
            refuseLoneProcess(environment);
            return Optional.empty();
        }
        EpConfig config = EpConfig.load();
        Bootstrap base = EpEngine.installed().fromEnvironment(environment, config);
        return Optional.of(exchangeHosts(base, EpKeys.SETUP_TIMEOUT.get(config)));
    }

    private static boolean detected(Map<String, String> environment) {
        return ServiceLoader.load(BootstrapProvider.class, EpGroup.class.getClassLoader()).stream()
                .anyMatch(provider -> provider.get().detects(environment));
    }

    /**
     * Refuses an option, or a command, that starts processes of its own in turns, where a launcher has started this process.
     *
     * @throws EpArgumentException naming it
     * @throws EpUnavailableException where the launcher gives no rendezvous
     */
    static void refuse(Map<String, String> environment, String option, Object value) {
        if (detected(environment)) {
            throw new EpArgumentException(
                    option,
                    value,
                    "used where no launcher (torchrun, mpirun, srun) has started this process, since the command starts"
                            + " ranks of its own on this machine",
                    "start the command without a launcher, or unset the launcher's variables");
        }
        refuseLoneProcess(environment);
    }

    /**
     * Refuses to be one of several processes that a launcher started with one command line and gave no rendezvous: {@code srun} without
     * {@code --mpi=pmix}, launchers that speak PMI-1 or PMI-2 alone, and any where a part of torchrun's variables hides PMIx. Each
     * process would otherwise start ranks of its own, and many measurements would run at once without a word.
     *
     * @throws EpUnavailableException naming the variable with the number of processes
     */
    private static void refuseLoneProcess(Map<String, String> environment) {
        SIZES.stream()
                .filter(name -> environment.getOrDefault(name, "").strip().matches("0*([2-9]|[1-9]\\d+)"))
                .findFirst()
                .ifPresent(name -> {
                    throw new EpUnavailableException("this process is one of several that a launcher started (" + name
                            + "=" + environment.get(name) + "), but " + reason(environment, name));
                });
    }

    private static String reason(Map<String, String> environment, String size) {
        String own = ", or unset " + size + " to let every process start ranks of its own";
        List<String> strays =
                TORCHRUN.subList(0, 2).stream().filter(environment::containsKey).toList();
        if (strays.isEmpty() || !environment.keySet().containsAll(PMIX)) {
            return "it cannot find the other processes: it has neither PMIx nor all of torchrun's variables; start all"
                    + " processes with srun --mpi=pmix (srun --mpi=list shows whether Slurm has it), with mpirun of Open"
                    + " MPI or with torchrun's variables" + own;
        }
        String missing =
                TORCHRUN.stream().filter(name -> !environment.containsKey(name)).collect(Collectors.joining(", "));
        return "it cannot find the other processes: its environment has " + String.join(", ", strays)
                + ", so PMIx is not used, but some of torchrun's variables are missing: " + missing + "; unset "
                + String.join(", ", strays) + ", or set " + String.join(", ", TORCHRUN) + own;
    }

    /**
     * Exchanges which ranks share a host.
     *
     * @param base is closed with what is returned, and where this fails
     * @param deadline of the wait: all have joined {@code base} by now, but their processes may be slow to go on
     */
    static LaunchedRanks exchangeHosts(Bootstrap base, Duration deadline) {
        try {
            return new LaunchedRanks(
                    base,
                    base.allGather("ep/hosts", host().getBytes(UTF_8), deadline).stream()
                            .map(bytes -> new String(bytes, UTF_8))
                            .toList());
        } catch (RuntimeException | Error e) {
            base.close();
            throw e;
        }
    }

    /**
     * Runs a command that has ranks and returns its exit code: where a launcher has started them, on rank 0, while the others serve;
     * else here, and the command starts its own.
     */
    static int runOrServe(Map<String, String> environment, ToIntFunction<Optional<LaunchedRanks>> command) {
        Optional<LaunchedRanks> launched = join(environment);
        if (launched.isEmpty()) {
            return command.applyAsInt(launched);
        }
        try (LaunchedRanks ranks = launched.get()) {
            return ranks.isRankZero() ? command.applyAsInt(launched) : ranks.serve();
        }
    }

    private boolean isRankZero() {
        return base.rank() == 0;
    }

    int size() {
        return base.size();
    }

    boolean onOneHost() {
        return new HashSet<>(hosts).size() == 1;
    }

    /** Returns the number of ranks, which an option may repeat but not change. */
    int ranks(CommandSpec command, int option) {
        boolean given = command.commandLine().getParseResult().hasMatchedOption("--ranks");
        if (given && option != size()) {
            throw new EpArgumentException(
                    "--ranks", option, size() + ", the number of launched ranks", "leave --ranks out under a launcher");
        }
        return size();
    }

    /**
     * Does work on all ranks, this one included.
     *
     * @param work of this kind, as JSON
     * @param listener gets every message of this rank
     * @return messages of each rank, in the order of the ranks
     * @throws RankFailedException when one failed, with its message
     * @throws EpPeerLostException when one is gone
     */
    List<List<RankMessage>> run(RankCommand.Kind kind, String work, Consumer<RankMessage> listener) {
        broadcast(kind + " " + work);
        List<List<RankMessage>> all = work(kind, work, listener);
        RankMessage.all(all, RankMessage.Failed.class).stream()
                .min(Comparator.comparing(LaunchedRanks::isConsequence))
                .ifPresent(why -> {
                    throw new RankFailedException("a rank failed: " + why.message(), why.exitCode());
                });
        return all;
    }

    /** Runs the conformance kit on all ranks, this one included. */
    ConformanceReport conformance(ConformanceRequest request, Consumer<RuleResult> progress) {
        broadcast(KIT);
        try (Bootstrap group = subgroup()) {
            return Conformance.run(request, group, progress);
        }
    }

    /** Does the jobs that rank 0 broadcasts, until an empty one; for the other ranks. Returns their exit code. */
    private int serve() {
        try {
            for (String work = broadcast(""); !work.isEmpty(); work = broadcast("")) {
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
            // Rank 0 reports it.
            return ExitCodes.RANK_FAILED;
        }
    }

    /** Returns the text of rank 0. */
    private String broadcast(String mine) {
        Duration deadline = mine.isEmpty() && isRankZero() ? END_DEADLINE : JOB_DEADLINE;
        return new String(allGather("ep/jobs/" + jobs++, mine, deadline).get(0), UTF_8);
    }

    private List<byte[]> allGather(String tag, String mine, Duration deadline) {
        try {
            return base.allGather(tag, mine.getBytes(UTF_8), deadline);
        } catch (RuntimeException | Error e) {
            broken = true;
            throw e;
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
            RankCommand.work(kind, work, group, localRank(), sink);
        } catch (EpException e) {
            mine.add(new RankMessage.Failed(
                    e.getClass().getSimpleName(), "rank " + base.rank() + ": " + e.getMessage(), ExitCodes.of(e)));
        }
        String text = String.join("\n", mine.stream().map(RankMessage::encode).toList());
        return allGather("ep/messages/" + jobs, text, JOB_DEADLINE).stream()
                .map(LaunchedRanks::messages)
                .toList();
    }

    private Bootstrap subgroup() {
        return base.subgroup(
                "ep/group/" + jobs, IntStream.range(0, size()).boxed().toList());
    }

    private static List<RankMessage> messages(byte[] text) {
        return Arrays.stream(new String(text, UTF_8).split("\n", -1))
                .flatMap(line -> RankMessage.decode(line).stream())
                .toList();
    }

    /** Returns whether a rank failed because it waited for another one, which is the one to name. */
    private static boolean isConsequence(RankMessage.Failed failed) {
        return failed.type().equals(EpPeerLostException.class.getSimpleName())
                || failed.type().equals(EpTimeoutException.class.getSimpleName());
    }

    /** Returns this rank's number among those of its host. */
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

    /** Ends the other ranks, if this is rank 0. */
    @Override
    public void close() {
        try {
            if (isRankZero() && !broken) {
                broadcast("");
            }
        } catch (EpException e) {
            System.getLogger(LaunchedRanks.class.getName())
                    .log(System.Logger.Level.DEBUG, "the other ranks have already ended", e);
        } finally {
            base.close();
        }
    }
}
