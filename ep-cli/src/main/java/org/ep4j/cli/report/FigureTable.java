package org.ep4j.cli.report;

import static org.ep4j.cli.report.TextTable.column;
import static org.ep4j.cli.report.TextTable.number;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
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
            Operations.HT_COMBINE_PARTIAL, "high-throughput combine, rank-partial",
            Operations.LL_DISPATCH, "low-latency dispatch",
            Operations.LL_SEND, "  send half",
            Operations.LL_RECEIVE, "  receive half",
            Operations.LL_COMBINE, "low-latency combine, in place",
            Operations.LL_BOTH, "low-latency dispatch + combine",
            Operations.LL_BY_HT, "same tokens, high-throughput dispatch");

    private static final Set<String> TIMES_OF_A_DEMO = Set.of("us", "GB/s", "wire GB/s");

    private FigureTable() {}

    /** Name of an operation for people. */
    public static String label(String operation) {
        return LABELS.getOrDefault(operation, operation);
    }

    /** Returns the table of a demo: what moved, how fast if it was timed, and whether it was right. */
    public static String demo(Map<String, Integer> tokens, List<Figures> figures, boolean timed) {
        List<TextTable.Column<Figures>> columns = List.of(
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
                column("result", f -> f.valid() ? "valid" : "WRONG"));
        return TextTable.of(
                        figures,
                        columns.stream()
                                .filter(column -> timed || !TIMES_OF_A_DEMO.contains(column.name()))
                                .toList())
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
                                column("ratio", FigureTable::ratio),
                                column(
                                        "alloc B",
                                        f -> f.allocatedBytes()
                                                .map(bytes -> Long.toString(bytes))
                                                .orElse("-"))))
                .toString();
    }

    /** Returns the table of the times of a bench on GPUs. */
    public static String gpuTimes(GpuReport report) {
        return TextTable.of(
                        operations(report),
                        List.of(
                                column("operation", GpuFigures::operation),
                                column("tokens", f -> Integer.toString(f.tokens())),
                                column("SMs", f -> Integer.toString(f.sms())),
                                column("MB", f -> number("%.1f", f.logicalBytes() / 1e6)),
                                column("GPU", f -> number("%.1f", f.gpuMicros())),
                                column("slowest", f -> number("%.1f", f.gpuSlowestMicros())),
                                column("p99", f -> number("%.1f", f.gpuP99Micros())),
                                column("GB/s", f -> number("%.0f", f.logicalGigabytesPerSecond())),
                                column("wire GB/s", f -> number("%.0f", f.wireGigabytesPerSecond())),
                                column("ceiling", f -> number("%.1f", f.ceilingMicros())),
                                column("ratio", f -> number("%.2f", f.ratioToCeiling()))))
                .toString();
    }

    /** Returns the table of what the operations of a bench on GPUs take of the host. */
    public static String gpuHostSide(GpuReport report) {
        return TextTable.of(
                        operations(report),
                        List.of(
                                column("operation", GpuFigures::operation),
                                column("tokens", f -> Integer.toString(f.tokens())),
                                column("SMs", f -> Integer.toString(f.sms())),
                                column("call", f -> number("%.1f", f.callMicros())),
                                column("host", f -> number("%.1f", f.hostMicros())),
                                column("queued", f -> number("%.1f", f.queuedMicros())),
                                column("alloc B", f -> number("%.0f", f.allocatedBytes()))))
                .toString();
    }

    private static List<GpuFigures> operations(GpuReport report) {
        return report.runs().stream().flatMap(run -> run.operations().stream()).toList();
    }

    /** Returns one line for each kind of path with what a rank sends over it in one round of each operation. */
    public static List<String> sentByPath(GpuReport report) {
        Map<String, Double> bytes = operations(report).stream()
                .flatMap(f -> f.sentBytes().entrySet().stream())
                .collect(Collectors.groupingBy(
                        Map.Entry::getKey, TreeMap::new, Collectors.summingDouble(Map.Entry::getValue)));
        double all = bytes.values().stream().mapToDouble(Double::doubleValue).sum();
        return bytes.entrySet().stream()
                .filter(kind -> all > 0)
                .map(kind -> String.format(
                        Locale.ROOT,
                        "%s: %.1f MB, %.1f %% of the rows that a rank sends in one round of each operation",
                        kind.getKey(),
                        kind.getValue() / 1e6,
                        100 * kind.getValue() / all))
                .toList();
    }

    /** Returns the table of chains of pairs on GPUs. */
    public static String chains(List<ChainFigures> chains) {
        return TextTable.of(
                        chains,
                        List.of(
                                column("pair", ChainFigures::operation),
                                column("tokens", f -> Integer.toString(f.tokens())),
                                column("way", ChainFigures::way),
                                column("period", f -> number("%.2f", f.periodMicros())),
                                column("min", f -> number("%.2f", f.minMicros())),
                                column("max", f -> number("%.2f", f.maxMicros())),
                                column("spread %", f -> number("%.1f", 100 * f.spread())),
                                column("drift %", f -> number("%+.1f", 100 * f.drift()))))
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
