package org.ep4j.tck;

import java.time.Duration;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfigException;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.ranks.Job;
import org.ep4j.tck.ranks.LaunchedRankPool;
import org.ep4j.tck.ranks.ProcessRankPool;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.RankPool;
import org.ep4j.tck.ranks.RankReport;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.tck.ranks.ThreadRankPool;

/** Runs rules on one subject, and keeps the ranks between them. Not safe for use from several threads. */
public final class RuleRunner implements AutoCloseable {
    private static final String HEAP = "512m";
    private static final String BITS = "bits";

    /** Not a rule of the kit, and in no report. */
    private static final Rule JOINS = Rule.parse("0.0 | | " + Joins.class.getName() + " | ranks join a group");

    private final TckSubject subject;
    private final List<String> unavailable;
    private final boolean required;
    private final Map<RankMode, RankPool> pools = new EnumMap<>(RankMode.class);
    /** The first bits of each rule with each number of ranks, shared between siblings. */
    private final Map<String, FirstBits> firstBits;

    private final Optional<Bootstrap> launched;
    private int jobs;
    private int launchedPools;

    private record FirstBits(RankMode mode, List<String> bits) {}

    /** Creates a runner, and probes the machine. */
    public RuleRunner(TckSubject subject) {
        this(subject, Optional.empty());
    }

    /** Creates a runner whose processes are the members of {@code launched}, of which this is rank 0. */
    RuleRunner(TckSubject subject, Optional<Bootstrap> launched) {
        this.launched = launched;
        this.subject = subject;
        this.unavailable = subject.unavailable();
        this.required = subject.required(System.getenv());
        this.firstBits = new ConcurrentHashMap<>();
    }

    private RuleRunner(RuleRunner other) {
        this.launched = Optional.empty();
        this.subject = other.subject;
        this.unavailable = other.unavailable;
        this.required = other.required;
        this.firstBits = other.firstBits;
    }

    /**
     * Creates a runner with ranks of its own for the same subject, which may run rules while this one does; the two compare bits with
     * each other. The caller closes it.
     *
     * @throws IllegalStateException when the ranks are those of a launcher
     */
    RuleRunner sibling() {
        if (launched.isPresent()) {
            throw new IllegalStateException("ranks that a launcher started can run only one rule at a time");
        }
        return new RuleRunner(this);
    }

    /** Runs a rule. Never throws: failures are part of the result. */
    public RuleResult run(Rule rule, RankMode mode, int requestedRanks) {
        long start = System.nanoTime();
        int ranks = rule.ranksFor(requestedRanks);
        Verdict verdict = excluded(rule, mode, ranks).orElseGet(() -> tested(rule, mode, ranks));
        if (verdict.outcome() == Outcome.FAIL && ranks > requestedRanks && !required) {
            verdict = tooMany(mode, ranks).orElse(verdict);
        }
        return new RuleResult(
                rule.id(),
                rule.text(),
                mode,
                ranks,
                verdict.outcome(),
                verdict.reason(),
                Duration.ofNanos(System.nanoTime() - start));
    }

    /**
     * Returns why ranks of a mode cannot join a group at all, because of settings or of what the machine lacks. Empty when they can, when
     * no rule runs in this mode, and when joining fails in another way, which the rules report. The ranks keep the group for the rules.
     */
    Optional<EpException> refused(RankMode mode, int ranks) {
        boolean runs =
                unavailable.isEmpty() && subject.declared().contains(mode.capability()) && ranks <= subject.maxRanks();
        if (!runs) {
            return Optional.empty();
        }
        try {
            return reports(JOINS, mode, ranks).stream()
                    .flatMap(report -> Joins.refusal(report.facts()).stream())
                    .findFirst();
        } catch (RuntimeException e) {
            return Optional.empty();
        }
    }

    /** Joins the group that rules share. */
    static final class Joins implements Scenario {
        private static final String SETTINGS = "settings";
        private static final String MISSING = "missing";

        @Override
        public void run(RankContext context) {
            try {
                context.group();
            } catch (EpConfigException e) {
                context.fact(SETTINGS, String.valueOf(e.getMessage()));
            } catch (EpUnavailableException e) {
                context.fact(MISSING, String.valueOf(e.getMessage()));
            }
        }

        static Optional<EpException> refusal(Map<String, String> facts) {
            return Optional.ofNullable(facts.get(SETTINGS))
                    .<EpException>map(EpConfigException::new)
                    .or(() -> Optional.ofNullable(facts.get(MISSING)).map(EpUnavailableException::new));
        }
    }

    private record Verdict(Outcome outcome, String reason) {}

    private Optional<Verdict> excluded(Rule rule, RankMode mode, int ranks) {
        if (rule.absent().filter(subject.declared()::contains).isPresent()) {
            return verdict(Outcome.NOT_APPLICABLE, rule.absent().get() + " is declared");
        }
        if (!rule.modes().contains(mode)) {
            return verdict(Outcome.NOT_APPLICABLE, "the rule runs only with ranks as " + rule.modes());
        }
        Set<Capability> missing = new TreeSet<>(rule.needs());
        missing.add(mode.capability());
        missing.removeAll(subject.declared());
        if (!missing.isEmpty()) {
            return verdict(Outcome.UNSUPPORTED, "not declared: " + missing);
        }
        if (!unavailable.isEmpty()) {
            String reasons = String.join("; ", unavailable);
            return required
                    ? verdict(
                            Outcome.FAIL,
                            TckSubject.REQUIRE + " names this backend, but it is not available: " + reasons)
                    : verdict(Outcome.UNAVAILABLE, reasons);
        }
        if (launched.isPresent() && rule.fresh()) {
            return verdict(
                    Outcome.UNTESTED, "the rule kills ranks, but ranks that a launcher started cannot be killed");
        }
        if (ranks > subject.maxRanks()) {
            return verdict(
                    Outcome.UNTESTED,
                    "the rule needs " + ranks + " ranks, but only " + subject.maxRanks() + " are possible here");
        }
        return Optional.empty();
    }

    private static Optional<Verdict> verdict(Outcome outcome, String reason) {
        return Optional.of(new Verdict(outcome, reason));
    }

    private Verdict tested(Rule rule, RankMode mode, int ranks) {
        try {
            return judge(rule, mode, ranks, reports(rule, mode, ranks));
        } catch (RuntimeException e) {
            return new Verdict(Outcome.FAIL, "the ranks could not be run: " + e);
        }
    }

    /** Returns the verdict for a rule whose fixed number of ranks, larger than the requested one, cannot join a group here at all. */
    private Optional<Verdict> tooMany(RankMode mode, int ranks) {
        return refused(mode, ranks)
                .map(e -> new Verdict(Outcome.UNTESTED, ranks + " ranks cannot join a group here: " + e.getMessage()));
    }

    private List<RankReport> reports(Rule rule, RankMode mode, int ranks) {
        RankPool pool = pool(rule, mode, ranks);
        Job job = new Job(
                rule.id() + "-" + jobs++,
                rule.scenario().getName(),
                rule.params().values(),
                ranks,
                subject.groupSettings(),
                subject.factory().getName(),
                Patience.scaled(rule.timeout()));
        List<RankReport> reports = pool.run(job);
        if (!pool.usable()) {
            pools.remove(mode);
            pool.close();
        }
        return reports;
    }

    private RankPool pool(Rule rule, RankMode mode, int ranks) {
        if (rule.fresh()) {
            Optional.ofNullable(pools.remove(mode)).ifPresent(RankPool::close);
        }
        RankPool pool = pools.get(mode);
        if (pool == null || !serves(pool, mode, ranks)) {
            Optional.ofNullable(pool).ifPresent(RankPool::close);
            pool = mode == RankMode.THREADS ? new ThreadRankPool(ranks) : processes(ranks);
            pools.put(mode, pool);
        }
        return pool;
    }

    /**
     * Returns whether a pool can run a rule. Processes must be as many as the ranks, since a library that is initialised once in a process
     * may stay in the world of its first group. Processes of a launcher cannot be started again.
     */
    private boolean serves(RankPool pool, RankMode mode, int ranks) {
        boolean startable = mode == RankMode.PROCESSES && launched.isEmpty();
        return startable ? pool.size() == ranks : pool.size() >= ranks;
    }

    private RankPool processes(int size) {
        return launched.<RankPool>map(members -> new LaunchedRankPool(members, launchedPools++))
                .orElseGet(() -> new ProcessRankPool(size, HEAP, Map.of()));
    }

    private Verdict judge(Rule rule, RankMode mode, int ranks, List<RankReport> reports) {
        List<RankReport> wrong = reports.stream()
                .filter(r -> r.end() != expectedEnd(rule, r.rank()))
                .sorted(Comparator.comparingLong(RankReport::nanos))
                .toList();
        if (!wrong.isEmpty()) {
            return new Verdict(
                    Outcome.FAIL, wrong.stream().map(RuleRunner::describe).collect(Collectors.joining("\n")));
        }
        List<String> bits =
                reports.stream().map(r -> r.facts().getOrDefault(BITS, "")).toList();
        FirstBits before = firstBits.putIfAbsent(rule.id() + "/" + ranks, new FirstBits(mode, bits));
        if (before != null && !before.bits().equals(bits)) {
            return new Verdict(
                    Outcome.FAIL,
                    "bits differ between " + before.mode() + " " + before.bits() + " and " + mode + " " + bits);
        }
        return new Verdict(Outcome.PASS, "");
    }

    private static RankReport.End expectedEnd(Rule rule, int rank) {
        return rule.victims().contains(rank) ? RankReport.End.KILLED : RankReport.End.DONE;
    }

    private static String describe(RankReport report) {
        String detail = switch (report.end()) {
            case DONE -> "the rank ran the rule to its end, but the rank should have died";
            case KILLED -> "the rank died, but should have survived";
            default -> report.detail();
        };
        return "rank " + report.rank() + " " + report.end() + ": " + detail;
    }

    /** Shuts the ranks down. */
    @Override
    public void close() {
        if (launched.isPresent()) {
            RankPool last = pools.computeIfAbsent(RankMode.PROCESSES, mode -> processes(0));
            ((LaunchedRankPool) last).dismiss();
        }
        pools.values().forEach(RankPool::close);
        pools.clear();
    }
}
