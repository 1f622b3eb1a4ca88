package org.ep4j.cli.report;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.ep4j.cli.rank.Operations;

/** Figures as tables for people. */
public final class FigureTable {
    private static final Map<String, String> LABELS = Map.of(
            Operations.HT_DISPATCH, "high-throughput dispatch",
            Operations.HT_COMBINE, "high-throughput combine, in place",
            Operations.HT_COMBINE_STAGED, "high-throughput combine, staged",
            Operations.LL_DISPATCH, "low-latency dispatch",
            Operations.LL_SEND, "  send half",
            Operations.LL_RECEIVE, "  receive half",
            Operations.LL_COMBINE, "low-latency combine, in place",
            Operations.LL_BOTH, "low-latency dispatch + combine",
            Operations.LL_BY_HT, "same tokens, high-throughput dispatch");

    private FigureTable() {}

    /** Name of an operation for people. */
    public static String label(String operation) {
        return LABELS.getOrDefault(operation, operation);
    }

    /** What a demo shows: what moved, how fast, and whether it was right. */
    public static String demo(int ranks, Map<String, Integer> tokens, List<Figures> figures) {
        TextTable table = new TextTable(List.of(
                "operation",
                "ranks",
                "tokens",
                "rows",
                "MB",
                "median us",
                "GB/s logical",
                "GB/s wire",
                "validated",
                "result"));
        for (Figures f : figures) {
            table.row(List.of(
                    label(f.operation()),
                    Integer.toString(ranks),
                    Integer.toString(tokens.getOrDefault(f.operation().substring(0, 2), 0)),
                    number("%.0f", f.rows()),
                    number("%.1f", f.logicalBytes() / 1e6),
                    number("%.0f", f.medianMicros()),
                    number("%.2f", f.logicalGigabytesPerSecond()),
                    number("%.2f", f.wireGigabytesPerSecond()),
                    Long.toString(f.validatedElements()),
                    f.valid() ? "valid" : "WRONG"));
        }
        return table.toString();
    }

    /** What a bench shows. */
    public static String bench(List<Figures> figures) {
        TextTable table = new TextTable(List.of(
                "operation",
                "rows",
                "MB",
                "median us",
                "p99 us",
                "slowest rank us",
                "GB/s logical",
                "GB/s wire",
                "ceiling us",
                "ratio",
                "validated"));
        for (Figures f : figures) {
            table.row(List.of(
                    label(f.operation()),
                    number("%.0f", f.rows()),
                    number("%.1f", f.logicalBytes() / 1e6),
                    number("%.1f", f.medianMicros()),
                    number("%.1f", f.p99Micros()),
                    number("%.1f", f.slowestRankMicros()) + " (" + f.slowestRank() + ")",
                    number("%.2f", f.logicalGigabytesPerSecond()),
                    number("%.2f", f.wireGigabytesPerSecond()),
                    f.ceilingMicros().map(c -> number("%.1f", c)).orElse("-"),
                    f.ratioToCeiling().map(r -> number("%.2f", r)).orElse("-"),
                    validated(f)));
        }
        return table.toString();
    }

    private static String validated(Figures f) {
        if (!f.valid()) {
            return "WRONG";
        }
        return f.validatedElements() == 0 ? "-" : Long.toString(f.validatedElements());
    }

    private static String number(String format, double value) {
        return String.format(Locale.ROOT, format, value);
    }
}
