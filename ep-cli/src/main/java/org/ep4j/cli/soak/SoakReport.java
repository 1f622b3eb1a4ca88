package org.ep4j.cli.soak;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.ep4j.cli.report.TextTable;
import org.ep4j.cli.soak.Problem.Kind;
import org.ep4j.cli.soak.Statistics.Times;

/** What a run found, for people and as JSON. */
public final class SoakReport {
    private static final int SHOWN_PROBLEMS = 3;
    private static final int SHOWN_CHARACTERS = 600;

    private final SoakSpec spec;
    private final Statistics statistics;
    private final String repeat;

    /**
     * A report.
     *
     * @param repeat command that repeats the run
     */
    public SoakReport(SoakSpec spec, Statistics statistics, String repeat) {
        this.spec = spec;
        this.statistics = statistics;
        this.repeat = repeat;
    }

    /** Where the run is, in one line. */
    public String progress(Duration elapsed) {
        String faults = statistics.roundsByFault().entrySet().stream()
                .map(e -> e.getKey().word() + " " + e.getValue())
                .collect(Collectors.joining(", "));
        return clock(elapsed) + "  rounds " + statistics.rounds() + " (" + faults + ")  recoveries "
                + times(statistics.recoveries()) + "  " + found();
    }

    private String found() {
        StringBuilder text = new StringBuilder("hangs " + statistics.count(Kind.HANG) + "  wrong rows in "
                + statistics.count(Kind.WRONG_ROWS) + " results  leaks " + statistics.count(Kind.LEAK));
        for (Kind kind : Kind.values()) {
            int count = statistics.count(kind);
            if (count > 0 && kind != Kind.HANG && kind != Kind.WRONG_ROWS && kind != Kind.LEAK) {
                text.append("  ").append(kind.words()).append(' ').append(count);
            }
        }
        return text.toString();
    }

    private static String times(Times times) {
        return times.count() == 0
                ? "0"
                : times.count() + " (p50 " + times.p50Millis() + " ms, p99 " + times.p99Millis() + " ms, max "
                        + times.maxMillis() + " ms)";
    }

    private static String clock(Duration time) {
        return String.format("%d:%02d:%02d", time.toHours(), time.toMinutesPart(), time.toSecondsPart());
    }

    /** The end of the run. */
    public String text(Duration elapsed) {
        String end = System.lineSeparator();
        StringBuilder text = new StringBuilder();
        TextTable table = new TextTable(List.of("fault", "rounds", "recoveries", "p50 ms", "p99 ms", "max ms"));
        Map<Fault, Times> recoveries = statistics.recoveriesByFault();
        statistics.roundsByFault().forEach((fault, rounds) -> {
            Times times = recoveries.getOrDefault(fault, Times.of(List.of()));
            boolean any = times.count() > 0;
            table.row(List.of(
                    fault.word(),
                    Integer.toString(rounds),
                    Integer.toString(times.count()),
                    any ? Long.toString(times.p50Millis()) : "-",
                    any ? Long.toString(times.p99Millis()) : "-",
                    any ? Long.toString(times.maxMillis()) : "-"));
        });
        text.append(end).append(table).append(end);
        text.append(String.format(
                "%,d exchanges, %,d elements compared, %s%n",
                statistics.exchanges(), statistics.elements(), clock(elapsed)));
        Times told = statistics.toldTimes();
        if (told.count() > 0) {
            text.append("told that they are out: ").append(times(told)).append(end);
        }
        text.append("recoveries: ").append(times(statistics.recoveries())).append(end);
        text.append(found()).append(end);
        List<Problem> problems = statistics.problems();
        for (Problem problem : problems.subList(0, Math.min(SHOWN_PROBLEMS, problems.size()))) {
            text.append(shortened(problem)).append(end);
        }
        if (statistics.passed()) {
            text.append("passed").append(end);
        } else {
            text.append("FAILED with seed ")
                    .append(spec.seed())
                    .append("; logs, stacks and all problems are in ")
                    .append(spec.logs())
                    .append(end)
                    .append("again: ")
                    .append(repeat)
                    .append(end);
        }
        return text.toString();
    }

    /** A problem as a line. */
    public static String shortened(Problem problem) {
        String line = problem.toString().lines().map(String::strip).collect(Collectors.joining(" | "));
        return line.length() <= SHOWN_CHARACTERS ? line : line.substring(0, SHOWN_CHARACTERS) + " ...";
    }

    /** The same as JSON. */
    public Map<String, Object> json(Duration elapsed, Map<String, Object> environment) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("environment", environment);
        all.put("seed", spec.seed());
        all.put("backend", spec.backend());
        all.put("device", spec.device());
        all.put("ranks", spec.ranks());
        all.put("mode", spec.processes() ? "processes" : "threads");
        all.put("faults", spec.faults().stream().map(Fault::word).toList());
        all.put("settings", spec.shownSettings());
        all.put("repeat", repeat);
        all.put("seconds", elapsed.toMillis() / 1000.0);
        all.put("rounds", statistics.rounds());
        Map<String, Object> byFault = new LinkedHashMap<>();
        Map<Fault, Times> recoveries = statistics.recoveriesByFault();
        statistics.roundsByFault().forEach((fault, rounds) -> {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("rounds", rounds);
            one.put("recoveries", recoveries.getOrDefault(fault, Times.of(List.of())));
            byFault.put(fault.word(), one);
        });
        all.put("byFault", byFault);
        all.put("recoveries", statistics.recoveries());
        all.put("told", statistics.toldTimes());
        all.put("exchanges", statistics.exchanges());
        all.put("elements", statistics.elements());
        Map<String, Integer> counts = new LinkedHashMap<>();
        for (Kind kind : Kind.values()) {
            counts.put(kind.words(), statistics.count(kind));
        }
        all.put("problems", counts);
        List<String> texts = new ArrayList<>();
        statistics.problems().forEach(problem -> texts.add(problem.toString()));
        all.put("firstProblems", texts);
        all.put("passed", statistics.passed());
        return all;
    }
}
