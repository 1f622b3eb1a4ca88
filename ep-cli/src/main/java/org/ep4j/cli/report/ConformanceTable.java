package org.ep4j.cli.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.tck.ConformanceReport;
import org.ep4j.tck.Outcome;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.RuleResult;

/** A conformance report for people: counts by chapter, and why something did not pass. */
public final class ConformanceTable {
    /** Enough for the message of one rank, with the top of its stack. */
    private static final int REASON_LINES = 8;

    private ConformanceTable() {}

    public static String of(ConformanceReport report) {
        StringBuilder text = new StringBuilder(chapters(report));
        for (Outcome outcome : List.of(Outcome.FAIL, Outcome.UNAVAILABLE, Outcome.UNTESTED)) {
            report.results().stream()
                    .filter(result -> result.outcome() == outcome)
                    .forEach(result -> text.append(System.lineSeparator()).append(reason(result)));
        }
        text.append(System.lineSeparator()).append(report.passed() ? "PASSED" : "NOT PASSED");
        report.counts().forEach((outcome, count) -> text.append(count > 0 ? ", " + count + " " + outcome : ""));
        return text.append(System.lineSeparator()).toString();
    }

    private static String chapters(ConformanceReport report) {
        List<String> header = new ArrayList<>(List.of("chapter"));
        Stream.of(Outcome.values()).map(Outcome::toString).forEach(header::add);
        header.add("seconds");
        TextTable table = new TextTable(header);
        Map<Integer, List<RuleResult>> byChapter = report.results().stream()
                .collect(Collectors.groupingBy(
                        r -> Integer.parseInt(r.id().substring(0, r.id().indexOf('.'))),
                        TreeMap::new,
                        Collectors.toList()));
        byChapter.forEach((chapter, results) -> {
            List<String> cells = new ArrayList<>(List.of(RuleBook.chapter(chapter)));
            for (Outcome outcome : Outcome.values()) {
                long count =
                        results.stream().filter(r -> r.outcome() == outcome).count();
                cells.add(count == 0 ? "" : Long.toString(count));
            }
            long millis =
                    results.stream().mapToLong(r -> r.elapsed().toMillis()).sum();
            cells.add(millis / 1000 + "." + millis % 1000 / 100);
            table.row(cells);
        });
        return table.toString();
    }

    private static String reason(RuleResult result) {
        List<String> lines = result.reason().lines().toList();
        String shortened = lines.size() <= REASON_LINES
                ? result.reason()
                : String.join("\n", lines.subList(0, REASON_LINES)) + "\n... " + (lines.size() - REASON_LINES)
                        + " more lines in the file that --json names";
        return result.outcome() + " " + result.id() + " (" + result.mode() + ", " + result.ranks() + " ranks) "
                + result.text() + System.lineSeparator() + shortened.indent(4);
    }
}
