package org.ep4j.cli.report;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.ep4j.EpUnavailableException;
import org.ep4j.tck.ConformanceReport;
import org.ep4j.tck.RuleResult;

/**
 * The files of a conformance run. They get each result as soon as it is there, so that a run which is cut off, for example by a
 * time limit, leaves its results so far.
 */
public final class ConformanceFiles {
    private final Map<Path, Function<ConformanceReport, String>> targets = new LinkedHashMap<>();
    private final Map<String, String> environment;
    private final int checks;
    private final List<RuleResult> results = new ArrayList<>();

    /**
     * Writes both without a result.
     *
     * @param environment head of the report
     * @param checks how many results there will be
     * @throws EpUnavailableException when one cannot be written
     */
    public ConformanceFiles(Optional<Path> json, Optional<Path> markdown, Map<String, String> environment, int checks) {
        this.environment = environment;
        this.checks = checks;
        json.ifPresent(path -> targets.put(path, ConformanceReport::toJson));
        markdown.ifPresent(path -> targets.put(path, ConformanceReport::toMarkdown));
        targets.keySet().forEach(TextFile::checkFolder);
        soFar();
    }

    /** Adds a result. A file that cannot be written now is left as it is: the last write decides. */
    public void add(RuleResult result) {
        results.add(result);
        try {
            soFar();
        } catch (EpUnavailableException e) {
            System.getLogger(ConformanceFiles.class.getName())
                    .log(System.Logger.Level.DEBUG, "the results so far could not be written", e);
        }
    }

    private void soFar() {
        ConformanceReport report = new ConformanceReport(environment, checks, results);
        targets.forEach((path, text) -> {
            if (TextFile.keepsText(path)) {
                TextFile.replace(path, text.apply(report));
            }
        });
    }

    /**
     * Writes the whole report.
     *
     * @throws EpUnavailableException when a file cannot be written
     */
    public void end(ConformanceReport report) {
        targets.forEach((path, text) -> TextFile.replace(path, text.apply(report)));
    }
}
