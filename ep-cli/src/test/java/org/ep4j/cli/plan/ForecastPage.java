package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.ep4j.cli.plan.Published.Series;
import org.ep4j.cli.plan.Published.Unit;
import org.ep4j.plan.forecast.Exchange.Messages;
import org.ep4j.plan.forecast.Exchange.Mode;
import org.ep4j.plan.offer.Estimates;

/** The page of the documents that holds the forecast model against published measurements. */
public final class ForecastPage {
    private final StringBuilder text = new StringBuilder();

    private ForecastPage() {}

    /** The page, in Markdown. */
    public static String markdown() {
        ForecastPage page = new ForecastPage();
        Published published = Published.load();
        List<Comparison> all = Comparison.all(published);
        page.head();
        page.model();
        page.summary(all);
        page.tables(all);
        page.hardware(published);
        return page.text.toString();
    }

    private void line(String format, Object... values) {
        text.append(values.length == 0 ? format : String.format(Locale.ROOT, format, values))
                .append('\n');
    }

    private void head() {
        line("# Accuracy of forecasts");
        line("");
        line(
                "`./ep plan` predicts the time of a dispatch or combine. This page compares its predictions with published measurements and with this project's own.");
        line("`ForecastPageTest` compares this page with the model, and writes it with `-Dep4j.docs.write=true`.");
        line("");
    }

    private void model() {
        line("## The forecast model");
        line("");
        line(
                "`./ep plan` and `org.ep4j.plan.forecast.Forecast` compute the time of one dispatch or combine on a plan as");
        line("");
        line("    time = latency + maximum over all shared resources of (bytes through the resource / its bandwidth)");
        line("");
        line("Shared resources are:");
        line("");
        line(
                "- each rank's GPU links, sending and receiving; a link that connects two GPUs directly is a resource of its own");
        line("- each NIC port, sending and receiving, shared by all ranks that use it");
        line("- the PCIe path to a NIC, if it is slower than the NIC's ports");
        line("- PCIe to the CPU, and host memory, if bytes are staged in host memory");
        line("");
        line(
                "Bytes are exact expected values for uniform routing without replacement: a token reaches a rank that holds n of E");
        line("experts with probability 1 - C(E-n, K) / C(E, K). Group-limited routing is computed in the same way.");
        line("");
        line(
                "In high throughput with one message per rank, a token goes once to each host (or NVLink domain) that holds one of its");
        line(
                "experts. There it goes to the rank whose index within the host (or domain) equals the sender's index within its own; that rank");
        line(
                "forwards the token inside the host (or domain). In the model a combine of one row per rank goes the same way backwards: the");
        line(
                "forwarding rank adds the rows of its domain and sends one sum. ep4j's own combine sends every row directly,");
        line(
                "so between hosts it takes longer than predicted. In low latency, and in high throughput with one message per expert,");
        line(
                "each message goes directly to its rank. The model has one constant for each kind of resource (for NICs, one for each");
        line(
                "mode), and no constant cost per row. The NIC constants were fitted to the ConnectX-7 figures below; the constants of");
        line("GPU links and the fixed time of an operation were fitted to measurements on 4 H200.");
        line("For the figures that constants were fitted to, the tables test only the byte counts and the");
        line("form of the model. For all other figures they also test the constants.");
        line("");
        line("| constant | value | source |");
        line("|---|---|---|");
        line(
                "| GPU links, fraction of nominal bandwidth | %.2f | each of 4 H200 sends 326 GB/s at the same time; NCCL's nominal value for 18 links is 370.8 GB/s |",
                Estimates.GPU_LINK_EFFICIENCY);
        line(
                "| NICs, fraction in high throughput | %.2f | 43 to 46 of 50 GB/s per NIC in DeepEP (V1 on H800, V2) and UCCL-EP (MI300X) where NICs are the limit, except three figures at 16 ranks (37 to 41 GB/s) |",
                Estimates.NIC_EFFICIENCY);
        line(
                "| NICs, fraction in low latency | %.2f | 36 to 43 of 50 GB/s per NIC in DeepEP and NCCL EP, except the dispatch at 16 ranks in two tables of DeepEP (31 and 32 GB/s) |",
                Estimates.NIC_EFFICIENCY_MESSAGES);
        line(
                "| fixed time of an operation | %.1f us | 20.7 us for 4.97 MB per rank on H200; 15.2 us of them are the transfer at 326 GB/s |",
                Estimates.OPERATION_MICROS);
        line(
                "| GPU link | %.1f us | half of a measured flag round trip of 2 to 3 us on H200 |",
                Estimates.GPU_LINK_MICROS);
        line(
                "| RDMA network; PCIe hop | %.1f us, %.1f us | NCCL `graph/tuning.cc` |",
                Estimates.NETWORK_MICROS, Estimates.PCI_MICROS);
        line("| EFA; sockets | %.0f us, %.0f us | assumed |", Estimates.EFA_MICROS, Estimates.SOCKET_MICROS);
        line(
                "| host memory, for staging | %.1f GB/s per host | half of eight channels of DDR4-3200 |",
                Estimates.STAGING_GIGABYTES);
        line("");
        line(
                "Nominal link bandwidths are taken from `graph/topo.h` of NCCL and RCCL: NVLink 20.6 GB/s per link (40.1 on Blackwell), xGMI 48 GB/s (MI300, MI350).");
        line("");
        line(
                "Not in the model: work of the GPU (casts, sums, copies), the number of SMs, message rates of NICs and host threads,");
        line(
                "congestion, and the tail of random routing. So a prediction is usually a lower bound for the time, and most ratios");
        line("below are less than 1.");
        line("");
    }

    private void summary(List<Comparison> all) {
        line("## Against measurements");
        line("");
        List<Double> ratios = all.stream().map(Comparison::ratio).sorted().toList();
        line(
                "%d figures. Ratio = predicted time / measured time: below 1, the prediction is faster than the measurement."
                        + " Median ratio %.2f; %d %% of the figures are within 10 %% (a factor of 1.1 either way), %d %% within 25 %%.",
                all.size(), ratios.get(ratios.size() / 2), within(all, 0.1), within(all, 0.25));
        line("");
        line(
                "Units: `us` is the time of the operation. `GB/s` counts all messages of a rank, including its messages to itself.");
        line(
                "`GB/s per host` counts a token once for each host that it goes to, also if that is the host of the sender. A GB is 1e9 bytes.");
        line("`limited by` names the slowest resource in the model.");
        line("");
        line("| mode, ranks | figures | median ratio | within 10 % | within 25 % |");
        line("|---|---|---|---|---|");
        for (Mode mode : Mode.values()) {
            for (boolean one : new boolean[] {true, false}) {
                List<Comparison> part = all.stream()
                        .filter(c -> c.series().mode() == mode && (c.ranks() <= 8) == one)
                        .toList();
                List<Double> sorted =
                        part.stream().map(Comparison::ratio).sorted().toList();
                line(
                        "| %s, %s | %d | %.2f | %d %% | %d %% |",
                        name(mode),
                        one ? "up to 8 ranks" : "16 ranks and more",
                        part.size(),
                        sorted.get(sorted.size() / 2),
                        within(part, 0.1),
                        within(part, 0.25));
            }
        }
        line("");
    }

    private static long within(List<Comparison> all, double part) {
        long near = all.stream()
                .filter(c -> Math.abs(Math.log(c.ratio())) <= Math.log(1 + part))
                .count();
        return Math.round(100.0 * near / all.size());
    }

    private void tables(List<Comparison> all) {
        Map<String, Map<Series, List<Comparison>>> bySource = new LinkedHashMap<>();
        for (Comparison one : all) {
            bySource.computeIfAbsent(one.series().source(), k -> new LinkedHashMap<>())
                    .computeIfAbsent(one.series(), k -> new ArrayList<>())
                    .add(one);
        }
        bySource.forEach((source, tables) -> {
            String url = tables.keySet().iterator().next().url();
            line("### %s", url.isEmpty() ? capital(source) : "[" + source + "](" + url + ")");
            line("");
            tables.forEach(this::table);
        });
    }

    private static String capital(String name) {
        return name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1);
    }

    private void table(Series series, List<Comparison> rows) {
        line(
                "**%s** on %s: %s, %d tokens per rank, top-%d, %s, rows of %d bytes in dispatch and %d in combine, %s%s%s",
                series.system(),
                series.hardware(),
                name(series.mode()),
                series.tokens(),
                series.topK(),
                series.expertsPerRank() > 0
                        ? series.expertsPerRank() + " experts on each rank"
                        : series.experts() + " experts",
                series.dispatchRow(),
                series.combineRow(),
                messages(series),
                series.topGroups() > 0 ? ", at most " + series.topGroups() + " hosts per token" : "",
                series.require().isEmpty() ? "" : ", over " + series.require() + " only");
        line("");
        String unit = switch (series.unit()) {
            case MICROS -> "us";
            case LOGICAL -> "GB/s";
            case DOMAIN -> "GB/s per host";
        };
        line(
                "| ranks | operation | %s, %s | predicted, %s | ratio | limited by |",
                series.url().isEmpty() ? "measured" : "published", unit, unit);
        line("|---|---|---|---|---|---|");
        for (Comparison row : rows) {
            line(
                    "| %d | %s | %s | %s | %.2f | %s |",
                    row.ranks(),
                    row.operation().name().toLowerCase(Locale.ROOT),
                    number(row.published()),
                    series.unit() == Unit.MICROS && row.predicted() >= 100
                            ? String.format(Locale.ROOT, "%.0f", row.predicted())
                            : String.format(Locale.ROOT, "%.1f", row.predicted()),
                    row.ratio(),
                    row.bottleneck());
        }
        line("");
        if (!series.note().isEmpty()) {
            line("%s", series.note());
            line("");
        }
    }

    private static String messages(Series series) {
        String out = series.dispatchMessages() == Messages.PER_RANK ? "one message per rank" : "one message per expert";
        if (series.dispatchMessages() == series.combineMessages()) {
            return out;
        }
        return out
                + (series.combineMessages() == Messages.PER_RANK
                        ? " in dispatch, one row per rank in combine"
                        : " in dispatch, one row per expert in combine");
    }

    private static String number(double value) {
        return value == Math.rint(value)
                ? String.format(Locale.ROOT, "%.0f", value)
                : String.format(Locale.ROOT, "%.1f", value);
    }

    private static String name(Mode mode) {
        return mode == Mode.HIGH_THROUGHPUT ? "high throughput" : "low latency";
    }

    private void hardware(Published published) {
        line("## Hardware descriptions used");
        line("");
        line("| name | GPUs per host | GPU links, GB/s | NICs per GPU | NVLink domain |");
        line("|---|---|---|---|---|");
        published
                .hardware()
                .forEach(one -> line(
                        "| %s | %d, %s | %.1f %s | %s | %s |",
                        one.id(),
                        one.gpus(),
                        one.architecture(),
                        one.linkGigabytes(),
                        one.vendor().name().equals("AMD") ? "to each peer" : "to a switch",
                        one.nicsPerGpu() == 0
                                ? "none"
                                : String.format(
                                        Locale.ROOT,
                                        "%d x %.0f Gb/s %s",
                                        one.nicsPerGpu(),
                                        one.nicGigabits(),
                                        one.family().name().toLowerCase(Locale.ROOT)),
                        one.domainHosts() == 0 ? "the host" : one.domainHosts() + " hosts"));
        line("");
        line(
                "Not compared: published figures that do not name hardware or shape, end-to-end figures of training and serving, and");
        line("kernels that move tokens over PCIe between GPUs without links.");
    }
}
