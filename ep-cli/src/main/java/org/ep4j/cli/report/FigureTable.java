package org.ep4j.cli.report;

import static org.ep4j.cli.report.TextTable.number;

import java.util.List;
import java.util.Map;
import org.ep4j.cli.rank.Operations;

/** Figures of demo and bench as tables for people. */
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
    public static String demo(Map<String, Integer> tokens, List<Figures> figures) {
        TextTable table = new TextTable(
                List.of("operation", "tokens", "rows", "MB", "us", "GB/s", "wire GB/s", "compared", "result"));
        for (Figures f : figures) {
            table.row(List.of(
                    // All are in place.
                    label(f.operation()).replace(", in place", ""),
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

    /** What a bench shows: HT is high throughput, LL low latency. */
    public static String bench(List<Figures> figures) {
        TextTable table = new TextTable(List.of(
                "operation", "rows", "MB", "us", "p99 us", "slowest us", "GB/s", "wire GB/s", "ceiling", "ratio"));
        for (Figures f : figures) {
            table.row(List.of(
                    brief(f.operation()),
                    number("%.0f", f.rows()),
                    number("%.1f", f.logicalBytes() / 1e6),
                    micros(f.medianMicros()),
                    micros(f.p99Micros()),
                    micros(f.slowestRankMicros()) + " (" + f.slowestRank() + ")",
                    number("%.2f", f.logicalGigabytesPerSecond()),
                    number("%.2f", f.wireGigabytesPerSecond()),
                    f.ceilingMicros().map(FigureTable::micros).orElse("-"),
                    f.valid() ? f.ratioToCeiling().map(r -> number("%.2f", r)).orElse("-") : "WRONG"));
        }
        return table.toString();
    }

    /** What a bench on GPUs shows. */
    public static String gpuBench(GpuReport report) {
        TextTable table = new TextTable(List.of(
                "operation",
                "tokens",
                "SMs",
                "MB",
                "GPU",
                "slowest",
                "call",
                "host",
                "queued",
                "GB/s",
                "wire GB/s",
                "ceiling",
                "ratio"));
        report.runs().stream()
                .flatMap(run -> run.operations().stream())
                .forEach(f -> table.row(List.of(
                        f.operation(),
                        Integer.toString(f.tokens()),
                        Integer.toString(f.sms()),
                        number("%.1f", f.logicalBytes() / 1e6),
                        number("%.1f", f.gpuMicros()),
                        number("%.1f", f.gpuSlowestMicros()),
                        number("%.1f", f.callMicros()),
                        number("%.1f", f.hostMicros()),
                        number("%.1f", f.queuedMicros()),
                        number("%.0f", f.logicalGigabytesPerSecond()),
                        number("%.0f", f.wireGigabytesPerSecond()),
                        number("%.1f", f.ceilingMicros()),
                        number("%.2f", f.ratioToCeiling()))));
        return table.toString();
    }

    private static String brief(String operation) {
        return label(operation)
                .replace("same tokens, high-throughput dispatch", "HT dispatch of LL tokens")
                .replace("high-throughput", "HT")
                .replace("low-latency", "LL");
    }

    private static String micros(double value) {
        return number(value < 1000 ? "%.1f" : "%.0f", value);
    }
}
