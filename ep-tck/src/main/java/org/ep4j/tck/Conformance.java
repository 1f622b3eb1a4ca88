package org.ep4j.tck;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.ep4j.Bootstrap;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.spi.SpiVersion;
import org.ep4j.tck.ranks.LaunchedRankPool;

/** Runs the kit without JUnit. */
public final class Conformance {
    private Conformance() {}

    /** Returns the rules that a request selects; {@code progress} gets one result for each of them and each mode. */
    public static List<Rule> rules(ConformanceRequest request) {
        Pattern filter = filter(request.ruleFilter().orElse(".*"));
        return RuleBook.all().stream()
                .filter(rule -> filter.matcher(rule.id()).matches())
                .toList();
    }

    /**
     * Runs rules. Those with ranks as processes run in parallel; those with ranks as threads run one after another, since some measure
     * the resources of their process.
     *
     * @param jobs rules that run at once, at least 1, each with processes of its own
     * @param progress called with every result at once, in the calling thread; the report has them in the order of the rules
     * @throws EpArgumentException when the filter is not a regular expression, or {@code jobs} is less than 1
     * @throws org.ep4j.EpConfigException as {@link TckSubject#checkSettings} does
     * @throws org.ep4j.EpUnavailableException before any rule runs, when the ranks of a mode cannot join a group at all
     */
    public static ConformanceReport run(ConformanceRequest request, int jobs, Consumer<RuleResult> progress) {
        if (jobs < 1) {
            throw new EpArgumentException("jobs", jobs, ">= 1", "give the number of rules that may run at once");
        }
        return run(request, Optional.empty(), jobs, progress);
    }

    /**
     * Runs rules with the members of {@code launched} as processes, which a launcher has started; this is rank 0, the others call {@link
     * #serve}. Rules that kill ranks are left out.
     *
     * @param progress called with every result at once, in the calling thread
     * @throws EpArgumentException when the filter is not a regular expression, or ranks are to be threads, too
     * @throws org.ep4j.EpConfigException as {@link TckSubject#checkSettings} does, on rank 0 only
     * @throws org.ep4j.EpUnavailableException before any rule runs, when the ranks cannot join a group at all
     */
    public static ConformanceReport run(ConformanceRequest request, Bootstrap launched, Consumer<RuleResult> progress) {
        if (!request.modes().equals(Set.of(RankMode.PROCESSES))) {
            throw new EpArgumentException(
                    "mode",
                    request.modes(),
                    "processes alone under a launcher",
                    "to run ranks as threads, start the program as one process, without a launcher");
        }
        return run(request, Optional.of(launched), 1, progress);
    }

    /** Takes part in the rules that rank 0 runs, and returns at their end. */
    public static void serve(Bootstrap launched) {
        LaunchedRankPool.serve(launched);
    }

    private static ConformanceReport run(
            ConformanceRequest request, Optional<Bootstrap> launched, int jobs, Consumer<RuleResult> progress) {
        request.subject().checkSettings();
        TckSubject subject =
                launched.map(members -> request.subject().upTo(members.size())).orElse(request.subject());
        List<Rule> rules = rules(request);
        Map<String, String> environment = environment(request, jobs);
        Set<RankMode> modes = new TreeSet<>(request.modes());
        List<RuleResult> results = new ArrayList<>();
        try (RuleRunner runner = new RuleRunner(subject, launched)) {
            for (RankMode mode : modes) {
                // Starts no processes where every rule needs some of its own.
                boolean kept = mode == RankMode.THREADS || rules.stream().anyMatch(rule -> !rule.fresh());
                Optional<EpException> refused = kept ? runner.refused(mode, request.ranks()) : Optional.empty();
                if (refused.isPresent()) {
                    throw refused.get();
                }
            }
            for (RankMode mode : modes) {
                int atOnce = mode == RankMode.THREADS ? 1 : Math.min(jobs, Math.max(1, rules.size()));
                try (ParallelRunner runners = new ParallelRunner(runner, atOnce)) {
                    results.addAll(runners.run(rules, mode, request.ranks(), progress));
                }
            }
        }
        return new ConformanceReport(environment, modes.size() * rules.size(), results);
    }

    private static Pattern filter(String text) {
        try {
            return Pattern.compile(text);
        } catch (PatternSyntaxException e) {
            throw new EpArgumentException(
                    "rule filter", text, "a valid regular expression for rule ids", "write for example 3\\..*", e);
        }
    }

    /** Returns the head of a report: the request, the machine, and the results of the backend's probe here. */
    public static Map<String, String> environment(ConformanceRequest request, int jobs) {
        TckSubject subject = request.subject();
        Map<String, String> header = new TreeMap<>();
        header.put("backend", subject.backend());
        header.put("device", subject.device());
        header.put("ranks", Integer.toString(request.ranks()));
        header.put("jobs", Integer.toString(jobs));
        header.put("modes", new TreeSet<>(request.modes()).toString());
        header.put("settings", new TreeMap<>(subject.settings()).toString());
        header.put("declared", new TreeSet<>(subject.declared()).toString());
        header.put("spi", SpiVersion.CURRENT.toString());
        header.put("started", Instant.now().toString());
        header.put("java", System.getProperty("java.vm.name") + " " + Runtime.version());
        header.put(
                "os",
                System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                        + System.getProperty("os.arch"));
        header.put("processors", Integer.toString(Runtime.getRuntime().availableProcessors()));
        header.putAll(subject.probed());
        String version = Conformance.class.getPackage().getImplementationVersion();
        header.put("kit", version == null ? "not from a jar" : version);
        return header;
    }
}
