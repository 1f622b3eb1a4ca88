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
import org.ep4j.tck.crew.GroupFactory;
import org.ep4j.tck.crew.LaunchedCrew;

/** Runs the kit without JUnit. */
public final class Conformance {
    private Conformance() {}

    /** Rules that a request selects; {@code progress} gets one result for each of them and each mode. */
    public static List<Rule> rules(ConformanceRequest request) {
        Pattern filter = filter(request.ruleFilter().orElse(".*"));
        return RuleBook.all().stream()
                .filter(rule -> filter.matcher(rule.id()).matches())
                .toList();
    }

    /**
     * Looks at what every rule would refuse alike; {@link #run} does so, too.
     *
     * @throws org.ep4j.EpConfigException when a setting is unknown or malformed; it names all that are
     */
    public static void check(ConformanceRequest request) {
        Subjects.checkSettings(subject(request, Optional.empty()));
    }

    /**
     * Runs, rules with ranks as processes side by side. Ranks that are threads run one rule after another all the same: rules
     * look at what their process holds.
     *
     * @param jobs rules that run at once, at least 1, each with processes of its own
     * @param progress is told every result as it comes, in the calling thread; the report has them in the order of the rules
     * @throws EpArgumentException when the filter is not a regular expression, or {@code jobs} is less than 1
     * @throws org.ep4j.EpConfigException as {@link #check} does
     * @throws org.ep4j.EpUnavailableException before any rule runs, when the ranks of a mode cannot join a group at all
     */
    public static ConformanceReport run(ConformanceRequest request, int jobs, Consumer<RuleResult> progress) {
        if (jobs < 1) {
            throw new EpArgumentException("jobs", jobs, ">= 1", "give the number of rules that may run at once");
        }
        return run(request, Optional.empty(), jobs, progress);
    }

    /**
     * Runs with the members of {@code launched} as processes, which a launcher has started; this is rank 0, the others {@link
     * #serve}. Rules that kill ranks are left out.
     *
     * @param progress is told every result as it comes, in the calling thread
     * @throws EpArgumentException when the filter is not a regular expression, or ranks are to be threads, too
     * @throws org.ep4j.EpConfigException as {@link #check} does; the other ranks are not told then
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

    /** Takes part in what rank 0 runs; returns at its end. */
    public static void serve(Bootstrap launched) {
        LaunchedCrew.serve(launched);
    }

    private static ConformanceReport run(
            ConformanceRequest request, Optional<Bootstrap> launched, int jobs, Consumer<RuleResult> progress) {
        check(request);
        TckSubject subject = subject(request, launched);
        List<Rule> rules = rules(request);
        Map<String, String> environment = environment(request, subject, jobs, Instant.now());
        Set<RankMode> modes = new TreeSet<>(request.modes());
        List<RuleResult> results = new ArrayList<>();
        try (RuleRunner runner = new RuleRunner(subject, launched)) {
            for (RankMode mode : modes) {
                // Processes are started for rules that use them, but not for those alone that have some of their own.
                boolean kept = mode == RankMode.THREADS || rules.stream().anyMatch(rule -> !rule.fresh());
                Optional<EpException> refused = kept ? runner.refused(mode, request.ranks()) : Optional.empty();
                if (refused.isPresent()) {
                    throw refused.get();
                }
            }
            for (RankMode mode : modes) {
                int atOnce = mode == RankMode.THREADS ? 1 : Math.min(jobs, Math.max(1, rules.size()));
                try (SideBySide runners = new SideBySide(runner, atOnce)) {
                    results.addAll(runners.run(rules, mode, request.ranks(), progress));
                }
            }
        }
        return new ConformanceReport(environment, modes.size() * rules.size(), results);
    }

    /** The head of a report: what is run, and what the backend's probe finds here. */
    public static Map<String, String> environment(ConformanceRequest request, int jobs) {
        return environment(request, subject(request, Optional.empty()), jobs, Instant.now());
    }

    private static TckSubject subject(ConformanceRequest request, Optional<Bootstrap> launched) {
        return new TckSubject(
                request.backend(),
                request.device(),
                request.settings(),
                request.declared(),
                launched.map(Bootstrap::size).orElse(Integer.MAX_VALUE),
                GroupFactory.Plain.class);
    }

    private static Pattern filter(String text) {
        try {
            return Pattern.compile(text);
        } catch (PatternSyntaxException e) {
            throw new EpArgumentException(
                    "rule filter", text, "a valid regular expression for rule ids", "write for example 3\\..*", e);
        }
    }

    private static Map<String, String> environment(
            ConformanceRequest request, TckSubject subject, int jobs, Instant start) {
        Map<String, String> header = new TreeMap<>();
        header.put("backend", request.backend());
        header.put("device", request.device());
        header.put("ranks", Integer.toString(request.ranks()));
        header.put("jobs", Integer.toString(jobs));
        header.put("modes", new TreeSet<>(request.modes()).toString());
        header.put("settings", new TreeMap<>(request.settings()).toString());
        header.put("declared", new TreeSet<>(request.declared()).toString());
        header.put("spi", SpiVersion.CURRENT.toString());
        header.put("started", start.toString());
        header.put("java", System.getProperty("java.vm.name") + " " + Runtime.version());
        header.put(
                "os",
                System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                        + System.getProperty("os.arch"));
        header.put("processors", Integer.toString(Runtime.getRuntime().availableProcessors()));
        header.putAll(Subjects.probed(subject));
        String version = Conformance.class.getPackage().getImplementationVersion();
        header.put("kit", version == null ? "not from a jar" : version);
        return header;
    }
}
