package org.ep4j.tck.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.EpConfigException;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.ranks.Job;
import org.ep4j.tck.ranks.ProcessRankPool;
import org.ep4j.tck.ranks.RankReport;
import org.ep4j.tck.soak.SoakReport.Kind;
import org.ep4j.tck.soak.SoakReport.Problem;
import org.ep4j.tck.soak.SoakReport.Times;
import org.jspecify.annotations.Nullable;

/** Runs rounds of exchanges with faults, on ranks that are processes of this machine. */
public final class Soak {
    private static final System.Logger LOG = System.getLogger(Soak.class.getName());

    private static final String HEAP = "512m";

    /** Timeout of operations. Losses are found before, so it only ends operations that hang. */
    private static final Duration OPERATION = Patience.scaled(Duration.ofSeconds(30));

    /** Longest round, with joining and closing; a longer one is a hang. */
    private static final Duration ROUND = Patience.scaled(Duration.ofMinutes(2));

    /** Longest stop of a process that must not count as a loss, which takes ten seconds of silence. */
    private static final Duration PAUSE = Duration.ofSeconds(2);

    /** Silence after which a rank counts as lost where processes are stopped, and no shorter than a busy machine needs. */
    static final Duration SILENCE = Patience.scaled(Duration.ofSeconds(5));

    /** Silence after which a rank counts as lost in other rounds. */
    private static final Duration USUAL_SILENCE = Patience.scaled(Duration.ofSeconds(10));

    private static final int HEARTBEATS_IN_SILENCE = 5;

    /** Rounds with a problem after which no more begin. */
    private static final int MOST_PROBLEMS = 10;

    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    /** Names of files of ranks, with process ids. */
    private static final Pattern FILES = Pattern.compile("ep4j-([0-9]{1,18})-.*");
    /** Names of files of libfabric's shared-memory provider, which killed processes leave: process, user, number. */
    private static final Pattern ENDPOINTS = Pattern.compile("([0-9]{1,18}):[0-9]+:[0-9]+");

    private final SoakRequest request;
    private final TckSubject subject;
    private final Consumer<SoakReport> progress;
    /** Process ids of all ranks. Guarded by this object. */
    private final Set<Long> pids = new HashSet<>();

    private long start;

    private final Map<Fault, Long> faults = new EnumMap<>(Fault.class);
    private final List<Duration> recoveries = new ArrayList<>();
    private final List<Duration> learned = new ArrayList<>();
    private final List<Problem> problems = new ArrayList<>();
    private long begun;
    private long rounds;
    private long exchanges;
    /** Failure that ends the run after its first round, since later rounds would fail in the same way. */
    private Optional<EpException> refused = Optional.empty();

    private Soak(SoakRequest request, Consumer<SoakReport> progress) {
        this.request = request;
        this.progress = progress;
        Map<String, String> settings = new TreeMap<>();
        settings.put(EpKeys.TIMEOUT.name(), OPERATION.toMillis() + "ms");
        settings.putAll(request.subject().settings());
        this.subject = request.subject().with(settings);
    }

    /**
     * Runs rounds until the request's limit, or until ten of them had a problem.
     *
     * @param progress called after each round with the report until then, one call at a time
     * @throws org.ep4j.EpConfigException when a setting is unknown or malformed
     * @throws EpUnavailableException when the machine cannot run the backend, or the ranks of the first round cannot join a group or
     *     have its fault
     */
    public static SoakReport run(SoakRequest request, Consumer<SoakReport> progress) {
        Soak soak = new Soak(request, progress);
        soak.subject.checkSettings();
        List<String> missing = soak.subject.unavailable();
        if (!missing.isEmpty()) {
            throw new EpUnavailableException("backend " + request.subject().backend() + " is not available here: "
                    + String.join("; ", missing) + "; ./ep doctor says more");
        }
        soak.start = System.nanoTime();
        soak.work();
        return soak.end();
    }

    private void work() {
        List<Thread> workers = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        for (int i = 0; i < request.jobs(); i++) {
            Thread worker = new Thread(
                    () -> {
                        try (Worker one = new Worker()) {
                            one.run();
                        } catch (RuntimeException | Error e) {
                            synchronized (failures) {
                                failures.add(e);
                            }
                        }
                    },
                    "soak-" + i);
            worker.setDaemon(true);
            worker.start();
            workers.add(worker);
        }
        try {
            for (Thread worker : workers) {
                worker.join();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            workers.forEach(Thread::interrupt);
        }
        synchronized (failures) {
            if (!failures.isEmpty()) {
                throw new CompletionException(
                        "a round could not be run: " + failures.get(0).getMessage(), failures.get(0));
            }
        }
    }

    private synchronized SoakReport end() {
        if (refused.isPresent()) {
            throw refused.get();
        }
        return report(files());
    }

    /** Returns the seed of the next round; null when no more begin. */
    private synchronized @Nullable Long next() {
        boolean allBegun =
                request.rounds().isPresent() && begun >= request.rounds().getAsLong();
        boolean timeOver = request.duration()
                .filter(longest -> System.nanoTime() - start >= longest.toNanos())
                .isPresent();
        boolean over = allBegun || timeOver || problems.size() >= MOST_PROBLEMS || refused.isPresent();
        return over ? null : request.seed() + begun++;
    }

    private synchronized void add(RoundPlan plan, List<RankReport> reports) {
        if (refused.isEmpty() && rounds == 0) {
            refused = reports.stream()
                    .flatMap(report -> refusal(report.facts()).stream())
                    .findFirst();
        }
        if (refused.isPresent()) {
            return;
        }
        for (RankReport report : reports) {
            exchanges += Long.parseLong(report.facts().getOrDefault(SoakRound.EXCHANGES, "0"));
        }
        times(reports, SoakRound.RECOVERIES).max(Comparator.naturalOrder()).ifPresent(recoveries::add);
        times(reports, SoakRound.LEARNED).forEach(learned::add);
        add(plan, problem(plan, reports));
    }

    private synchronized void add(RoundPlan plan, Optional<Problem> problem) {
        rounds++;
        faults.merge(plan.fault(), 1L, Long::sum);
        problem.ifPresent(problems::add);
        progress.accept(report(List.of()));
    }

    private static Stream<Duration> times(List<RankReport> reports, String fact) {
        return reports.stream()
                .flatMap(report ->
                        Stream.of(report.facts().getOrDefault(fact, "").split(",", -1)))
                .filter(time -> !time.isEmpty())
                .map(time -> Duration.ofNanos(Long.parseLong(time)));
    }

    /** Returns why the first round ends the run without a report. In a later round this is a failure, which keeps the earlier rounds. */
    static Optional<EpException> refusal(Map<String, String> facts) {
        return Optional.ofNullable(facts.get(SoakRound.SETTINGS))
                .<EpException>map(EpConfigException::new)
                .or(() -> Optional.ofNullable(facts.get(SoakRound.UNINJECTABLE)).map(EpUnavailableException::new))
                .or(() -> Optional.ofNullable(facts.get(SoakRound.UNAVAILABLE))
                        .map(why -> new EpUnavailableException("ranks cannot join a group here: " + why)));
    }

    /** Adds a round whose processes did not start. */
    private synchronized void add(RoundPlan plan, String failure) {
        add(plan, Optional.of(new Problem(plan.seed(), plan.fault(), Kind.FAILURE, failure)));
    }

    private synchronized SoakReport report(List<String> files) {
        return new SoakReport(
                rounds,
                exchanges,
                faults,
                new Times(recoveries),
                new Times(learned),
                problems,
                files,
                Duration.ofNanos(System.nanoTime() - start));
    }

    /** Returns the worst problem of a round, if it has any. */
    static Optional<Problem> problem(RoundPlan plan, List<RankReport> reports) {
        Set<Integer> killed = plan.fault().kills() ? new HashSet<>(plan.victims()) : Set.of();
        boolean divided = plan.fault() == Fault.PARTITION && isDivided(reports);
        List<RankReport> wrong = reports.stream()
                .filter(report ->
                        report.end() != (killed.contains(report.rank()) ? RankReport.End.KILLED : RankReport.End.DONE)
                                || isAccepted(plan, report)
                                || isUntouched(plan, report)
                                || divided
                                || report.facts().containsKey(SoakRound.LEAK)
                                || report.facts().containsKey(SoakRound.WRONG))
                .sorted(Comparator.comparingLong(RankReport::nanos))
                .toList();
        return wrong.stream()
                .map(Soak::kind)
                .min(Comparator.comparingInt(Kind::ordinal))
                .map(kind -> new Problem(
                        plan.seed(),
                        plan.fault(),
                        kind,
                        wrong.stream().map(report -> describe(plan, report)).collect(Collectors.joining("\n"))));
    }

    /** Returns whether a rank was not refused the buffer that is too large. */
    private static boolean isAccepted(RoundPlan plan, RankReport report) {
        return plan.fault() == Fault.FULL && !report.facts().containsKey(SoakRound.REFUSED);
    }

    /** Returns whether a rank gave up no port although one was down. */
    private static boolean isUntouched(RoundPlan plan, RankReport report) {
        return plan.fault() == Fault.PORT_DOWN
                && plan.victims().contains(report.rank())
                && report.facts().getOrDefault(SoakRound.FAILOVERS, "0").equals("0");
    }

    /** Returns whether the ranks that continued are not the members of one group, or a rank does not report why it did not continue. */
    private static boolean isDivided(List<RankReport> reports) {
        List<Integer> on = reports.stream()
                .filter(report -> report.facts().containsKey(SoakRound.MEMBERS))
                .map(RankReport::rank)
                .sorted()
                .toList();
        return reports.stream()
                .anyMatch(report -> on.contains(report.rank())
                        ? !on.toString().equals(report.facts().get(SoakRound.MEMBERS))
                        : !report.facts().containsKey(SoakRound.ENDED));
    }

    private static Kind kind(RankReport report) {
        if (report.facts().containsKey(SoakRound.WRONG)) {
            return Kind.WRONG_ROW;
        }
        if (report.end() == RankReport.End.HUNG || report.facts().containsKey(SoakRound.HANG)) {
            return Kind.HANG;
        }
        return report.facts().containsKey(SoakRound.LEAK) ? Kind.LEAK : Kind.FAILURE;
    }

    /** Returns the effect of the fault that a rank has not had. */
    private static String unharmed(RoundPlan plan) {
        return switch (plan.fault()) {
            case FULL -> "the rank created a buffer larger than memory, but such a buffer must be refused";
            case PORT_DOWN -> "a port of the rank was down, but the rank gave up no port";
            default ->
                "the fault " + plan.fault()
                        + " was meant to hit the rank, but the rank ended as if nothing had happened";
        };
    }

    private static String describe(RoundPlan plan, RankReport report) {
        Map<String, String> facts = report.facts();
        String detail = switch (report.end()) {
            case DONE ->
                facts.getOrDefault(
                        SoakRound.LEAK,
                        facts.getOrDefault(
                                SoakRound.ENDED,
                                facts.containsKey(SoakRound.MEMBERS)
                                        ? "the rank went on with ranks " + facts.get(SoakRound.MEMBERS)
                                        : unharmed(plan)));
            case KILLED ->
                facts.getOrDefault(SoakRound.WRONG, "the rank was killed, but the round was not meant to kill it");
            default ->
                facts.containsKey(SoakRound.WRONG)
                        ? facts.get(SoakRound.WRONG) + "\n" + report.detail()
                        : report.detail();
        };
        return "rank " + report.rank() + " " + report.end() + ": " + detail;
    }

    /** Returns the names of files that the ranks, which have ended, left in shared memory. */
    private synchronized List<String> files() {
        return Stream.of(FILES, ENDPOINTS)
                .flatMap(names -> files(names, pids).stream())
                .map(path -> path.getFileName().toString())
                .sorted()
                .toList();
    }

    /** Returns the files in shared memory whose names contain one of the process ids. */
    private static List<Path> files(Pattern names, Collection<Long> pids) {
        try (Stream<Path> all = Files.list(SHARED_MEMORY)) {
            return all.filter(path -> {
                        Matcher matcher = names.matcher(path.getFileName().toString());
                        return matcher.matches() && pids.contains(Long.valueOf(matcher.group(1)));
                    })
                    .toList();
        } catch (IOException e) {
            // Not Linux.
            return List.of();
        }
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            LOG.log(System.Logger.Level.DEBUG, "cannot delete " + file + ", left by a killed process", e);
        }
    }

    /** Runs one round after another, and keeps the ranks after a round that leaves all of them in their group. */
    private final class Worker implements AutoCloseable {
        private @Nullable Ranks ranks;
        private int jobs;

        void run() {
            for (Long seed = next(); seed != null; seed = next()) {
                RoundPlan plan = RoundPlan.draw(request, seed, PAUSE);
                List<RankReport> reports;
                try {
                    Ranks used = ranks(plan);
                    reports = used.pool.run(job(plan));
                    if (plan.fault().leavesRanksUnusable() || !used.pool.usable()) {
                        close();
                    }
                } catch (RuntimeException e) {
                    close();
                    add(plan, "the ranks could not be run: " + e);
                    continue;
                }
                add(plan, reports);
            }
        }

        private Ranks ranks(RoundPlan plan) {
            boolean brief = plan.fault().stopsForLong();
            boolean forwarded = plan.fault() == Fault.RESET;
            Ranks kept = ranks;
            if (kept != null && kept.brief == brief && kept.forwarded == forwarded) {
                return kept;
            }
            close();
            Ranks fresh = new Ranks(brief, forwarded);
            ranks = fresh;
            return fresh;
        }

        private Job job(RoundPlan plan) {
            return new Job(
                    "soak-" + jobs++,
                    SoakRound.class.getName(),
                    plan.params(),
                    request.ranks(),
                    subject.groupSettings(),
                    subject.factory().getName(),
                    ROUND);
        }

        @Override
        public void close() {
            if (ranks != null) {
                ranks.close();
                ranks = null;
            }
        }
    }

    /** Rank processes for one or more rounds. */
    private final class Ranks implements AutoCloseable {
        private final boolean brief;
        private final boolean forwarded;
        private final List<Forwarder> forwarders = new ArrayList<>();
        private final ProcessRankPool pool;

        /**
         * Starts the processes.
         *
         * @param brief whether a rank that is silent for {@link #SILENCE} counts as lost
         * @param forwarded whether all but rank 0 join through forwarders
         */
        Ranks(boolean brief, boolean forwarded) {
            this.brief = brief;
            this.forwarded = forwarded;
            Duration silence = brief ? SILENCE : USUAL_SILENCE;
            Map<String, String> more = Map.of(
                    EpKeys.BOOTSTRAP_HEARTBEAT.environmentName(),
                    silence.dividedBy(HEARTBEATS_IN_SILENCE).toMillis() + "ms",
                    EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT.environmentName(),
                    silence.toMillis() + "ms");
            try {
                this.pool = new ProcessRankPool(request.ranks(), HEAP, more, this::own);
            } catch (RuntimeException e) {
                forwarders.forEach(Forwarder::close);
                throw e;
            }
            synchronized (Soak.this) {
                pids.addAll(pool.pids());
            }
        }

        private Map<String, String> own(int rank, int port) {
            if (!forwarded || rank == 0) {
                return Map.of();
            }
            Forwarder forwarder = new Forwarder(port);
            forwarders.add(forwarder);
            return forwarder.environment();
        }

        /**
         * Shuts the processes down. If they are killed, removes the files of their endpoints, 16 MB each, which would fill shared memory in
         * a night.
         */
        @Override
        public void close() {
            boolean killed = !pool.usable();
            pool.close();
            forwarders.forEach(Forwarder::close);
            if (killed) {
                files(ENDPOINTS, pool.pids()).forEach(Soak::delete);
            }
        }
    }
}
