package org.ep4j.cli.report;

import static org.ep4j.cli.report.TextTable.column;
import static org.ep4j.cli.report.TextTable.number;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.cli.rank.Operations;
import org.ep4j.cli.rank.RankMessage.Lane;
import org.ep4j.cli.rank.RankMessage.Link;
import org.ep4j.cli.rank.RankMessage.Sent;

/** Figures of demo, bench and writes as text for people. */
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

    /** Returns the table of a demo: what moved, how fast, and whether it was right. */
    public static String demo(Map<String, Integer> tokens, List<Figures> figures) {
        return TextTable.of(
                        figures,
                        List.of(
                                // All are in place.
                                column("operation", f -> label(f.operation()).replace(", in place", "")),
                                column(
                                        "tokens",
                                        f -> tokens.getOrDefault(f.operation().substring(0, 2), 0)
                                                .toString()),
                                column("rows", f -> number("%.0f", f.rows())),
                                column("MB", f -> number("%.1f", f.logicalBytes() / 1e6)),
                                column("us", f -> number("%.0f", f.medianMicros())),
                                column("GB/s", f -> number("%.2f", f.logicalGigabytesPerSecond())),
                                column("wire GB/s", f -> number("%.2f", f.wireGigabytesPerSecond())),
                                column("compared", f -> Long.toString(f.validatedElements())),
                                column("result", f -> f.valid() ? "valid" : "WRONG")))
                .toString();
    }

    /** Returns the table of a bench on the host; HT is high throughput, LL low latency. */
    public static String bench(List<Figures> figures) {
        return TextTable.of(
                        figures,
                        List.of(
                                column("operation", f -> brief(f.operation())),
                                column("rows", f -> number("%.0f", f.rows())),
                                column("MB", f -> number("%.1f", f.logicalBytes() / 1e6)),
                                column("us", f -> micros(f.medianMicros())),
                                column("p99 us", f -> micros(f.p99Micros())),
                                column("slowest us", f -> micros(f.slowestRankMicros()) + " (" + f.slowestRank() + ")"),
                                column("GB/s", f -> number("%.2f", f.logicalGigabytesPerSecond())),
                                column("wire GB/s", f -> number("%.2f", f.wireGigabytesPerSecond())),
                                column(
                                        "ceiling",
                                        f -> f.ceilingMicros()
                                                .map(FigureTable::micros)
                                                .orElse("-")),
                                column("ratio", FigureTable::ratio)))
                .toString();
    }

    /** Returns the table of a bench on GPUs. */
    public static String gpuBench(GpuReport report) {
        return TextTable.of(
                        report.runs().stream()
                                .flatMap(run -> run.operations().stream())
                                .toList(),
                        List.of(
                                column("operation", GpuFigures::operation),
                                column("tokens", f -> Integer.toString(f.tokens())),
                                column("SMs", f -> Integer.toString(f.sms())),
                                column("MB", f -> number("%.1f", f.logicalBytes() / 1e6)),
                                column("GPU", f -> number("%.1f", f.gpuMicros())),
                                column("slowest", f -> number("%.1f", f.gpuSlowestMicros())),
                                column("call", f -> number("%.1f", f.callMicros())),
                                column("host", f -> number("%.1f", f.hostMicros())),
                                column("queued", f -> number("%.1f", f.queuedMicros())),
                                column("GB/s", f -> number("%.0f", f.logicalGigabytesPerSecond())),
                                column("wire GB/s", f -> number("%.0f", f.wireGigabytesPerSecond())),
                                column("ceiling", f -> number("%.1f", f.ceilingMicros())),
                                column("ratio", f -> number("%.2f", f.ratioToCeiling()))))
                .toString();
    }

    /** Returns one line for each backend with what it has sent. */
    public static List<String> sent(List<Sent> sent) {
        Map<String, List<Link>> byBackend = new TreeMap<>();
        sent.forEach(one -> byBackend
                .computeIfAbsent(one.backend(), backend -> new ArrayList<>())
                .addAll(one.links()));
        List<String> lines = new ArrayList<>();
        byBackend.forEach((backend, links) -> lines.add(sent(backend, links)));
        return lines;
    }

    private static String sent(String backend, List<Link> links) {
        List<Lane> lanes = links.stream().flatMap(link -> link.lanes().stream()).toList();
        Map<String, Long> bytes = lanes.stream()
                .collect(Collectors.groupingBy(Lane::ports, TreeMap::new, Collectors.summingLong(Lane::bytes)));
        String ports = bytes.entrySet().stream()
                .map(entry -> String.format(Locale.ROOT, "%s %.1f MB", entry.getKey(), entry.getValue() / 1e6))
                .collect(Collectors.joining(", "));
        return String.format(
                Locale.ROOT,
                "Backend %s sent %.1f MB in %d writes, and advanced counters of peers %d times, over %d queue pairs, including"
                        + " rounds that are not measured; %d failovers, %d requests repeated. %s",
                backend,
                lanes.stream().mapToLong(Lane::bytes).sum() / 1e6,
                lanes.stream().mapToLong(Lane::writes).sum(),
                lanes.stream().mapToLong(Lane::adds).sum(),
                lanes.size(),
                links.stream().mapToInt(Link::failovers).sum(),
                lanes.stream().mapToLong(Lane::replays).sum(),
                ports);
    }

    private static String brief(String operation) {
        return label(operation)
                .replace("same tokens, high-throughput dispatch", "HT dispatch of LL tokens")
                .replace("high-throughput", "HT")
                .replace("low-latency", "LL");
    }

    private static String ratio(Figures f) {
        return f.valid() ? f.ratioToCeiling().map(r -> number("%.2f", r)).orElse("-") : "WRONG";
    }

    private static String micros(double value) {
        return number(value < 1000 ? "%.1f" : "%.0f", value);
    }
}
