package org.ep4j.tck;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The results of a run, or of a part of it.
 *
 * @param environment the request and the machine, by name
 * @param checks number of results of the whole run
 * @param results one for each rule and mode, in the order in which they ran
 */
public record ConformanceReport(Map<String, String> environment, int checks, List<RuleResult> results) {
    /** Copies the collections. */
    public ConformanceReport {
        environment = Collections.unmodifiableMap(new TreeMap<>(environment));
        results = List.copyOf(results);
    }

    /** Returns whether all have run, at least one passed and none failed. An unavailable backend that is required counts as failed. */
    public boolean passed() {
        return results.size() == checks
                && counts().getOrDefault(Outcome.PASS, 0) > 0
                && counts().getOrDefault(Outcome.FAIL, 0) == 0;
    }

    /** Returns the number of results with each outcome, 0 included. */
    public Map<Outcome, Integer> counts() {
        Map<Outcome, Integer> counts = new EnumMap<>(Outcome.class);
        for (Outcome outcome : Outcome.values()) {
            counts.put(outcome, 0);
        }
        results.forEach(r -> counts.merge(r.outcome(), 1, Integer::sum));
        return counts;
    }

    /** Returns the report as JSON: environment, passed, checks, counts, results. */
    public String toJson() {
        List<Map<String, Object>> rows = results.stream()
                .map(result -> Json.fields(
                        "rule", result.id(),
                        "text", result.text(),
                        "mode", result.mode(),
                        "ranks", result.ranks(),
                        "outcome", result.outcome(),
                        "reason", result.reason(),
                        "millis", result.elapsed().toMillis()))
                .toList();
        return Json.of(Json.fields(
                "environment", environment, "passed", passed(), "checks", checks, "counts", counts(), "results", rows));
    }

    /** Returns the report as a Markdown table: rule, text, one column for each mode, reasons. */
    public String toMarkdown() {
        StringBuilder text = new StringBuilder("# Conformance of ")
                .append(environment.getOrDefault("backend", "?"))
                .append("\n\n");
        environment.forEach((name, value) ->
                text.append("- ").append(name).append(": ").append(value).append('\n'));
        text.append("- results: ")
                .append(counts())
                .append(" of ")
                .append(checks)
                .append(" checks\n\n");
        List<RankMode> modes =
                results.stream().map(RuleResult::mode).distinct().sorted().toList();
        text.append("| rule | what must hold |");
        modes.forEach(mode -> text.append(' ').append(mode).append(" |"));
        text.append(" reason |\n|---|---|").append("---|".repeat(modes.size())).append("---|\n");
        Map<String, List<RuleResult>> byRule = new LinkedHashMap<>();
        results.forEach(
                r -> byRule.computeIfAbsent(r.id(), k -> new ArrayList<>()).add(r));
        byRule.forEach((id, rows) -> appendRow(text, id, rows, modes));
        return text.toString();
    }

    private static void appendRow(StringBuilder text, String id, List<RuleResult> rows, List<RankMode> modes) {
        text.append("| ").append(id).append(" | ").append(rows.get(0).text()).append(" |");
        for (RankMode mode : modes) {
            text.append(' ');
            rows.stream()
                    .filter(r -> r.mode() == mode)
                    .forEach(r -> text.append(r.outcome()).append(' '));
            text.append('|');
        }
        List<String> reasons = rows.stream()
                .map(RuleResult::shortReason)
                .filter(r -> !r.isEmpty())
                .distinct()
                .toList();
        text.append(' ').append(String.join("; ", reasons).replace("|", "\\|")).append(" |\n");
    }
}
