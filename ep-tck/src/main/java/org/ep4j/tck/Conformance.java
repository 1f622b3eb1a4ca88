package org.ep4j.tck;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.ep4j.EpArgumentException;
import org.ep4j.spi.SpiVersion;
import org.ep4j.tck.crew.GroupFactory;

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
     * Runs.
     *
     * @param progress is told every result as it comes, in the calling thread
     * @throws EpArgumentException when the filter is not a regular expression
     */
    public static ConformanceReport run(ConformanceRequest request, Consumer<RuleResult> progress) {
        TckSubject subject = new TckSubject(
                request.backend(),
                request.device(),
                request.settings(),
                request.declared(),
                Integer.MAX_VALUE,
                GroupFactory.Plain.class);
        List<Rule> rules = rules(request);
        int largest =
                rules.stream().mapToInt(r -> r.ranksFor(request.ranks())).max().orElse(request.ranks());
        Instant start = Instant.now();
        List<RuleResult> results = new ArrayList<>();
        try (RuleRunner runner = new RuleRunner(subject, largest)) {
            for (RankMode mode : new TreeSet<>(request.modes())) {
                for (Rule rule : rules) {
                    RuleResult result = runner.run(rule, mode, request.ranks());
                    results.add(result);
                    progress.accept(result);
                }
            }
        }
        return new ConformanceReport(environment(request, subject, start), results);
    }

    private static Pattern filter(String text) {
        try {
            return Pattern.compile(text);
        } catch (PatternSyntaxException e) {
            throw new EpArgumentException(
                    "rule filter", text, "a regular expression over rule ids", "write for example 3\\..*", e);
        }
    }

    private static Map<String, String> environment(ConformanceRequest request, TckSubject subject, Instant start) {
        Map<String, String> header = new TreeMap<>();
        header.put("backend", request.backend());
        header.put("device", request.device());
        header.put("ranks", Integer.toString(request.ranks()));
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
