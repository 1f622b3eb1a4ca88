package org.ep4j.cli.report;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.tck.ConformanceReport;
import org.ep4j.tck.Outcome;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.RuleResult;

/** A conformance report for people: counts by chapter, and why something did not pass. */
public final class ConformanceTable {
    /** Enough for what one rank said, with the top of its stack. */
    private static final int REASON_LINES = 8;

    private ConformanceTable() {}

    public static String of(ConformanceReport report) {
        StringBuilder text = new StringBuilder(chapters(report));
        for (Outcome outcome : List.of(Outcome.FAIL, Outcome.UNAVAILABLE, Outcome.UNTESTED)) {
            reasons(text, report, outcome);
        }
        text.append(System.lineSeparator()).append(report.passed() ? "PASSED" : "NOT PASSED");
        report.counts().forEach((outcome, count) -> {
            if (count > 0) {
                text.append(", ").append(count).append(' ').append(outcome);
            }
        });
        return text.append(System.lineSeparator()).toString();
    }

    private static String chapters(ConformanceReport report) {
        List<String> header = new ArrayList<>(List.of("chapter"));
        for (Outcome outcome : Outcome.values()) {
            header.add(outcome.toString());
        }
        header.add("seconds");
        TextTable table = new TextTable(header);
        Map<Integer, List<RuleResult>> byChapter = new TreeMap<>();
        report.results()
                .forEach(r -> byChapter
                        .computeIfAbsent(chapter(r.id()), c -> new ArrayList<>())
                        .add(r));
        byChapter.forEach((chapter, results) -> {
            Map<Outcome, Integer> counts = new EnumMap<>(Outcome.class);
            results.forEach(r -> counts.merge(r.outcome(), 1, Integer::sum));
            List<String> cells = new ArrayList<>(List.of(RuleBook.chapter(chapter)));
            for (Outcome outcome : Outcome.values()) {
                cells.add(counts.containsKey(outcome) ? counts.get(outcome).toString() : "");
            }
            long millis =
                    results.stream().mapToLong(r -> r.elapsed().toMillis()).sum();
            cells.add(millis / 1000 + "." + millis % 1000 / 100);
            table.row(cells);
        });
        return table.toString();
    }

    private static void reasons(StringBuilder text, ConformanceReport report, Outcome outcome) {
        for (RuleResult result : report.results()) {
            if (result.outcome() == outcome) {
                text.append(System.lineSeparator())
                        .append(outcome)
                        .append(' ')
                        .append(result.id())
                        .append(" (")
                        .append(result.mode())
                        .append(", ")
                        .append(result.ranks())
                        .append(" ranks) ")
                        .append(result.text())
                        .append(System.lineSeparator())
                        .append(shortened(result.reason()).indent(4));
            }
        }
    }

    private static String shortened(String reason) {
        List<String> lines = reason.lines().toList();
        return lines.size() <= REASON_LINES
                ? reason
                : String.join("\n", lines.subList(0, REASON_LINES)) + "\n... " + (lines.size() - REASON_LINES)
                        + " more lines in the file that --json names";
    }

    private static int chapter(String id) {
        return Integer.parseInt(id.substring(0, id.indexOf('.')));
    }
}
