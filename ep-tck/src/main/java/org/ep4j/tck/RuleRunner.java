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
import org.ep4j.tck.crew.Job;
import org.ep4j.tck.crew.LaunchedCrew;
import org.ep4j.tck.crew.ProcessCrew;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.RankCrew;
import org.ep4j.tck.crew.RankReport;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.crew.ThreadCrew;
import org.ep4j.tck.oracle.Patience;

/** Runs rules on one subject and keeps the ranks between them. Not safe for use from several threads. */
public final class RuleRunner implements AutoCloseable {
    private static final String HEAP = "512m";
    private static final String BITS = "bits";

    /** No rule of the kit, and in no report. */
    private static final Rule JOINS = Rule.of("0.0", "ranks join a group", Joins.class, "");

    private final TckSubject subject;
    private final List<String> unavailable;
    private final boolean required;
    private final Map<RankMode, RankCrew> crews = new EnumMap<>(RankMode.class);
    /** The bits of each rule with each number of ranks, shared with {@link #beside}. */
    private final Map<String, Seen> seen;

    private final Optional<Bootstrap> launched;
    private int jobs;
    private int launchedCrews;

    private record Seen(RankMode mode, List<String> bits) {}

    /** A runner; probes the machine. */
    public RuleRunner(TckSubject subject) {
        this(subject, Optional.empty());
    }

    /** A runner whose processes are the members of {@code launched}; this is rank 0 of them. */
    RuleRunner(TckSubject subject, Optional<Bootstrap> launched) {
        this.launched = launched;
        this.subject = subject;
        this.unavailable = Subjects.unavailable(subject);
        this.required = Subjects.required(subject, System.getenv());
        this.seen = new ConcurrentHashMap<>();
    }

    private RuleRunner(RuleRunner other) {
        this.launched = Optional.empty();
        this.subject = other.subject;
        this.unavailable = other.unavailable;
        this.required = other.required;
        this.seen = other.seen;
    }

    /**
     * A runner with ranks of its own for the same subject, which may run rules while this one does: the two compare bits with
     * each other. Close it, too.
     *
     * @throws IllegalStateException when the ranks are those of a launcher, of which there are none beside
     */
    RuleRunner beside() {
        if (launched.isPresent()) {
            throw new IllegalStateException("ranks that a launcher started can run only one rule at a time");
        }
        return new RuleRunner(this);
    }

    /** Runs a rule. Never throws: what goes wrong is the result. */
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
     * Why ranks of a mode cannot join a group at all, for settings or for what is not there; empty when they can, when they are
     * not to be asked, and when it fails in another way, which is what rules tell. They keep the group for the rules.
     */
    Optional<EpException> refused(RankMode mode, int ranks) {
        boolean asked =
                unavailable.isEmpty() && subject.declared().contains(mode.capability()) && ranks <= subject.maxRanks();
        if (!asked) {
            return Optional.empty();
        }
        try {
            return reports(JOINS, mode, ranks).stream()
                    .flatMap(report -> Joins.told(report.facts()).stream())
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

        static Optional<EpException> told(Map<String, String> facts) {
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
                            Outcome.FAIL, Subjects.REQUIRE + " names this backend, but it is not available: " + reasons)
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

    /** What is no fault where a rule's own number of ranks, larger than the one asked for, cannot join a group here at all. */
    private Optional<Verdict> tooMany(RankMode mode, int ranks) {
        return refused(mode, ranks)
                .map(e -> new Verdict(Outcome.UNTESTED, ranks + " ranks cannot join a group here: " + e.getMessage()));
    }

    private List<RankReport> reports(Rule rule, RankMode mode, int ranks) {
        RankCrew crew = crew(rule, mode, ranks);
        Job job = new Job(
                rule.id() + "-" + jobs++,
                rule.scenario().getName(),
                rule.params().values(),
                ranks,
                Subjects.settings(subject),
                subject.factory().getName(),
                Patience.here(rule.timeout()));
        List<RankReport> reports = crew.run(job);
        if (!crew.usable()) {
            crews.remove(mode);
            crew.close();
        }
        return reports;
    }

    private RankCrew crew(Rule rule, RankMode mode, int ranks) {
        if (rule.fresh()) {
            Optional.ofNullable(crews.remove(mode)).ifPresent(RankCrew::close);
        }
        RankCrew crew = crews.get(mode);
        if (crew == null || !serves(crew, mode, ranks)) {
            Optional.ofNullable(crew).ifPresent(RankCrew::close);
            crew = mode == RankMode.THREADS ? new ThreadCrew(ranks) : processes(ranks);
            crews.put(mode, crew);
        }
        return crew;
    }

    /**
     * Whether a crew may run a rule. Not every backend can open some of its processes alone: a library that is initialised once in
     * a process stays in the world that its first group was. Those of a launcher cannot be started anew.
     */
    private boolean serves(RankCrew crew, RankMode mode, int ranks) {
        boolean startable = mode == RankMode.PROCESSES && launched.isEmpty();
        return startable ? crew.size() == ranks : crew.size() >= ranks;
    }

    private RankCrew processes(int size) {
        return launched.<RankCrew>map(members -> LaunchedCrew.conduct(members, launchedCrews++))
                .orElseGet(() -> new ProcessCrew(size, HEAP));
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
        Seen before = seen.putIfAbsent(rule.id() + "/" + ranks, new Seen(mode, bits));
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

    /** Ends the ranks. */
    @Override
    public void close() {
        if (launched.isPresent()) {
            RankCrew last = crews.computeIfAbsent(RankMode.PROCESSES, mode -> processes(0));
            ((LaunchedCrew) last).dismiss();
        }
        crews.values().forEach(RankCrew::close);
        crews.clear();
    }
}
