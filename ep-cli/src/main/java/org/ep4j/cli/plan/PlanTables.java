package org.ep4j.cli.plan;

import static org.ep4j.cli.report.TextTable.column;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.cli.plan.PlanReport.Load;
import org.ep4j.cli.plan.PlanReport.Operation;
import org.ep4j.cli.plan.PlanReport.Paths;
import org.ep4j.cli.plan.PlanReport.Posting;
import org.ep4j.cli.plan.PlanReport.RankNics;
import org.ep4j.cli.plan.PlanReport.Tuned;
import org.ep4j.cli.plan.PlanReport.TunedSetting;
import org.ep4j.cli.plan.PlanReport.Variable;
import org.ep4j.cli.report.TextTable;
import org.ep4j.cli.report.Wrapped;
import org.ep4j.topology.model.Printable;

/** A {@link PlanReport} for people. */
public final class PlanTables {
    private static final int LOADS = 4;
    private static final int WIDEST_TABLE = 32;
    private static final int LONGEST_VALUE = 40;

    private final PlanReport report;
    private final StringBuilder text = new StringBuilder();

    private PlanTables(PlanReport report) {
        this.report = report;
    }

    public static String of(PlanReport report) {
        PlanTables tables = new PlanTables(report);
        tables.head();
        tables.matrix();
        tables.paths();
        tables.nics();
        tables.posting();
        tables.sizes();
        tables.forecasts();
        tables.tuned();
        return tables.text.toString();
    }

    /** Variables of the environment for people. */
    public static String of(List<Variable> variables) {
        if (variables.isEmpty()) {
            return "Variables: none begins with " + EnvironmentAnalysis.beginnings() + System.lineSeparator()
                    + System.lineSeparator();
        }
        TextTable table = new TextTable(List.of("variable", "value", "here"));
        variables.forEach(
                one -> table.row(List.of(one.name(), Printable.line(one.value(), LONGEST_VALUE), one.meaning())));
        return "Variables" + System.lineSeparator() + table.toString().indent(2) + System.lineSeparator();
    }

    private void line(String format, Object... values) {
        text.append(Wrapped.line(String.format(Locale.ROOT, format, values)));
    }

    private void indented(Object table) {
        text.append(table.toString().indent(2));
    }

    private void title(String title) {
        line("");
        line("%s", title);
    }

    private void head() {
        line(
                "%s: %d host%s, %d rank%s of device %s",
                report.source(),
                report.hosts(),
                report.hosts() == 1 ? "" : "s",
                report.ranks(),
                report.ranks() == 1 ? "" : "s",
                report.device());
        if (!report.rows().isEmpty()) {
            line("  rows: %s", report.rows());
        }
        report.assumptions().forEach(text -> line("  assumed: %s", text));
        report.warnings().forEach(text -> line("  odd: %s", text));
    }

    private void matrix() {
        List<List<String>> table = report.table();
        if (report.ranks() < 2 || table.get(0).size() > WIDEST_TABLE) {
            return;
        }
        Map<String, String> letters = new TreeMap<>();
        table.stream()
                .flatMap(List::stream)
                .filter(backend -> !backend.isEmpty())
                .distinct()
                .sorted()
                .forEach(backend -> letters.put(backend, letter(backend, letters)));
        title("Rank x rank" + (report.hosts() > 2 ? " (the first two of " + report.hosts() + " hosts)" : ""));
        List<String> header = new ArrayList<>(List.of("from"));
        for (int to = 0; to < table.get(0).size(); to++) {
            header.add(Integer.toString(to));
        }
        TextTable rows = new TextTable(header);
        for (int from = 0; from < table.size(); from++) {
            List<String> row = new ArrayList<>(List.of(Integer.toString(from)));
            table.get(from).forEach(backend -> row.add(backend.isEmpty() ? "." : letters.getOrDefault(backend, "?")));
            rows.row(row);
        }
        indented(rows);
        line(
                "  %s",
                letters.entrySet().stream()
                        .map(e -> e.getValue() + " = " + e.getKey())
                        .collect(Collectors.joining(", ")));
    }

    private static String letter(String backend, Map<String, String> taken) {
        for (char c : (backend.toUpperCase(Locale.ROOT) + "ABCDEFGHIJKLMNOPQRSTUVWXYZ").toCharArray()) {
            if (Character.isLetter(c) && !taken.containsValue(String.valueOf(c))) {
                return String.valueOf(c);
            }
        }
        return "?";
    }

    private void paths() {
        if (report.paths().isEmpty()) {
            return;
        }
        title("Paths (like pairs together)");
        indented(TextTable.of(
                report.paths(),
                List.of(
                        column("pairs", group -> Long.toString(group.pairs())),
                        column("such as", group -> group.from() + "->" + group.to()),
                        column("backend", Paths::backend),
                        column("kind", Paths::kind),
                        column("GB/s", group -> number(group.gigabytesPerSecond())),
                        column("shared by", group -> group.sharers() == 1 ? "" : Integer.toString(group.sharers())),
                        column("us", group -> number(group.micros())),
                        column("lanes", group -> Integer.toString(group.lanes())),
                        column("detour", group -> group.staged() ? "host memory" : ""))));
        line(
                "  GB/s: rate of a pair while the sending rank writes to no other peer; shared by: number of pairs that share this rate"
                        + " when all ranks of the host write to each other");
        for (Paths group : report.paths()) {
            if (group.note().isEmpty() && group.rejected().isEmpty()) {
                continue;
            }
            line("  %d->%d:", group.from(), group.to());
            if (!group.note().isEmpty()) {
                line("    note: %s", group.note());
            }
            group.rejected().stream()
                    .filter(reason -> !group.otherHardware().contains(Paths.backendOf(reason)))
                    .forEach(reason -> line("    not taken: %s", reason));
            if (!group.otherHardware().isEmpty()) {
                line("    for other hardware: %s", String.join(", ", group.otherHardware()));
            }
        }
    }

    private void nics() {
        if (report.nics().stream().allMatch(rank -> rank.nics().isEmpty())) {
            return;
        }
        title("NICs (ranks of the first host)");
        indented(TextTable.of(
                report.nics(),
                List.of(
                        column("rank", rank -> Integer.toString(rank.rank())),
                        column("device", RankNics::device),
                        column("NUMA", rank -> rank.numa() < 0 ? "-" : Integer.toString(rank.numa())),
                        column("NICs", rank -> String.join(", ", rank.nics())),
                        column("why", RankNics::reason))));
    }

    private void posting() {
        if (report.posting().isEmpty()) {
            return;
        }
        title("Posting to NICs (ranks of the first host)");
        indented(TextTable.of(
                report.posting(),
                List.of(
                        column("ranks", posting -> ranks(posting.ranks())),
                        column("backend", Posting::backend),
                        column("NICs", posting -> Integer.toString(posting.nics())),
                        column("proxy threads", p -> p.proxies() == 0 ? "-" : Integer.toString(p.proxies())),
                        column("memory", Posting::memory),
                        column("limits of what a rank has in flight on a NIC", Posting::flow))));
    }

    private static String ranks(List<Integer> ranks) {
        int first = ranks.get(0);
        int last = ranks.get(ranks.size() - 1);
        return ranks.size() > 1 && last - first + 1 == ranks.size()
                ? first + "-" + last
                : ranks.stream().map(String::valueOf).collect(Collectors.joining(", "));
    }

    private void sizes() {
        PlanReport.Sizes sizes = report.sizes();
        title("Sizes");
        TextTable table = new TextTable(List.of("what", "a rank", "a host"));
        long ranks = report.nics().size();
        if (sizes.symmetricBytes() > 0) {
            table.row(
                    List.of("symmetric buffer", bytes(sizes.symmetricBytes()), bytes(ranks * sizes.symmetricBytes())));
            table.row(
                    List.of("results, if all are used", bytes(sizes.localBytes()), bytes(ranks * sizes.localBytes())));
            sizes.localParts().forEach((use, part) -> table.row(List.of("  " + use, bytes(part), bytes(ranks * part))));
            table.row(List.of("at creation", bytes(sizes.bytesAtCreation()), bytes(ranks * sizes.bytesAtCreation())));
        }
        sizes.lanesPerRank()
                .forEach((backend, lanes) -> table.row(List.of(
                        "lanes of " + backend,
                        lanes.toString(),
                        sizes.lanesPerHost().getOrDefault(backend, 0L).toString())));
        if (sizes.proxiesPerRank() > 0) {
            table.row(List.of(
                    "proxy threads",
                    Integer.toString(sizes.proxiesPerRank()),
                    Integer.toString(sizes.proxiesPerHost())));
            table.row(List.of(
                    "endpoints, where unconnected",
                    Long.toString(sizes.endpointsPerRank()),
                    Long.toString(ranks * sizes.endpointsPerRank())));
        }
        if (sizes.multiprocessors() > 0) {
            table.row(List.of("multiprocessors", Integer.toString(sizes.multiprocessors()), ""));
        }
        indented(table);
    }

    private void forecasts() {
        title("Forecast (a rank; uniform routing)");
        indented(TextTable.of(
                report.forecasts(),
                List.of(
                        column("operation", op -> op.mode() + " " + op.operation()),
                        column("tokens", op -> Integer.toString(op.tokens())),
                        column("us", op -> number(op.micros())),
                        column("latency us", op -> number(op.latencyMicros())),
                        column("logical GB/s", op -> number(op.logicalGigabytesPerSecond())),
                        column("wire GB/s", op -> number(op.wireGigabytesPerSecond())),
                        column("limited by", Operation::bottleneck))));
        for (Operation op : report.forecasts()) {
            if (op.loads().isEmpty()) {
                continue;
            }
            line("  %s %s: load of each kind of resource", op.mode(), op.operation());
            for (Load load : op.loads().subList(0, Math.min(LOADS, op.loads().size()))) {
                line(
                        "    %10s us  %s%s: %s at %s GB/s",
                        number(load.micros()),
                        load.resource(),
                        load.alike() > 1 ? " and " + (load.alike() - 1) + " like it" : "",
                        bytes(Math.round(load.bytes())),
                        number(load.gigabytesPerSecond()));
            }
        }
    }

    private void tuned() {
        if (report.tuned().isEmpty()) {
            return;
        }
        title("Tuned (./ep tune)");
        for (Tuned one : report.tuned()) {
            line("  measured on %s, %s:", one.measured(), one.on());
            if (one.settings().isEmpty()) {
                line("    the defaults are best");
            }
            for (TunedSetting setting : one.settings()) {
                String value = setting.name() + "=" + setting.value();
                line(
                        "    %s",
                        setting.instead().isEmpty()
                                ? value + " (" + setting.reason() + ")"
                                : value + " is not used, since " + setting.instead());
            }
        }
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, value >= 100 ? "%.0f" : "%.1f", value);
    }

    private static String bytes(long bytes) {
        return bytes >= 1L << 30
                ? String.format(Locale.ROOT, "%.2f GiB", bytes / (double) (1L << 30))
                : String.format(Locale.ROOT, "%.1f MiB", bytes / (double) (1L << 20));
    }
}
