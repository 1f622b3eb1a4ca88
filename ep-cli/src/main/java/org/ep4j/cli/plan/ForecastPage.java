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
        line("# Documents");
        line("");
        line("- this page: how `./ep plan` forecasts, and how far its forecasts are from published measurements");
        line("- [doctor.md](doctor.md): what `./ep doctor` checks, with every code and its remedy");
        line(
                "- [soak.md](soak.md): exchanges under faults, before a cluster is trusted: faults, what must follow, the report");
        line("- [rdma-guest.md](rdma-guest.md): RDMA without RDMA hardware, to try backends and to test them");
        line("- [ibrc.md](ibrc.md): InfiniBand and RoCE: settings for NICs, what was tested where");
        line("- [efa.md](efa.md): libfabric: EFA, Slingshot, TCP: how it works, settings, what was tested where");
        line(
                "- [proxies.md](proxies.md): threads of the host that post to NICs for a GPU: settings, how to measure, garbage"
                        + " collectors");
        line("- [rocm.md](rocm.md): AMD GPUs: requirements, what was verified how, what awaits hardware");
        line(
                "- [bring-up.md](bring-up.md): from bare machines to GPUs that post to NICs: steps, settings, what was run where");
        line(
                "- [../README.md](../README.md): what ep4j is, how to build and use it; [../CONTRIBUTING.md](../CONTRIBUTING.md): how");
        line("  to work on it");
        line("");
        line("`./ep forecast-page > docs/README.md` writes this page; a test keeps it true.");
        line("");
    }

    private void model() {
        line("## The forecast model");
        line("");
        line(
                "`./ep plan` and `org.ep4j.plan.forecast.Forecast` predict the time of one dispatch or combine on a plan:");
        line("");
        line("    time = latency + largest over all shared resources of (bytes through it / what it carries)");
        line("");
        line("Resources are the GPU links of every rank (out and in; each link on its own where two GPUs have one for");
        line(
                "themselves), every NIC port with all ranks that use it (out and in), the PCIe path to a card where it is narrower");
        line(
                "than its ports, and, where bytes take that detour, PCIe to the processor and the memory of the host. Bytes are");
        line(
                "expectations over uniform routing without replacement, exact: a rank that holds n of E experts is reached with");
        line("probability 1 - C(E-n, K) / C(E, K); group-limited routing likewise.");
        line("");
        line(
                "High throughput sends a token once to each host (or NVLink domain) that holds one of its experts, to the rank at");
        line(
                "the sender's own place there, which forwards it; low latency sends straight to the ranks. There is one constant");
        line(
                "for each kind of resource, and none for a row. Those of NICs are read off the rates that the tables below imply");
        line(
                "for ConnectX-7, those of GPU links and of the fixed part off the data movement measured on 4 H200: these rows");
        line("check the bytes and the shape of the model, all others its constants as well.");
        line("");
        line("| constant | value | source |");
        line("|---|---|---|");
        line(
                "| GPU links, part reached | %.2f | 326 GB/s leave each of 4 H200 at once, of 370.8 that NCCL counts for 18 links |",
                Estimates.GPU_LINK_EFFICIENCY);
        line(
                "| NICs, part reached by large exchanges | %.2f | 44 to 46 of 50 GB/s in DeepEP and UCCL-EP |",
                Estimates.NIC_EFFICIENCY);
        line(
                "| NICs, part reached by single tokens | %.2f | 38 to 43 of 50 GB/s in DeepEP and NCCL EP |",
                Estimates.NIC_EFFICIENCY_MESSAGES);
        line(
                "| fixed part of an operation | %.1f us | 20.7 us for 4.97 MB a rank on H200, of which 15.2 at 326 GB/s |",
                Estimates.OPERATION_MICROS);
        line(
                "| GPU link | %.1f us | half of a measured flag round trip of 2 to 3 us on H200 |",
                Estimates.GPU_LINK_MICROS);
        line(
                "| RDMA network, crossing of PCIe | %.1f us, %.1f us | NCCL `graph/tuning.cc` |",
                Estimates.NETWORK_MICROS, Estimates.PCI_MICROS);
        line(
                "| EFA, sockets | %.0f us, %.0f us | assumed; only their order matters |",
                Estimates.EFA_MICROS, Estimates.SOCKET_MICROS);
        line(
                "| host memory on a detour | %.1f GB/s a host | half of eight channels of DDR4-3200 |",
                Estimates.STAGING_GIGABYTES);
        line("");
        line(
                "NVLink counts 20.6 GB/s a link (40.1 on Blackwell), xGMI 48 (MI300, MI350): NCCL's and RCCL's `graph/topo.h`.");
        line("");
        line(
                "Not in the model: the GPU's own work (casts, sums, copies, too few multiprocessors), the rate at which NICs and");
        line(
                "host threads take messages, congestion, and the tail of random routing. So it is a lower bound of the time more");
        line("often than not, and the ratios below are mostly under 1.");
        line("");
    }

    private void summary(List<Comparison> all) {
        line("## Against published measurements");
        line("");
        List<Double> ratios = all.stream().map(Comparison::ratio).sorted().toList();
        line(
                "%d figures; ratio = predicted time / published time, so below 1 the model is faster than the measurement."
                        + " Median ratio %.2f; %d %% of the figures are within 10 %%, %d %% within 25 %%.",
                all.size(), ratios.get(ratios.size() / 2), within(all, 0.1), within(all, 0.25));
        line("");
        line(
                "Units: `us` is the time of the operation; `GB/s` counts all messages of a rank, those to itself among them;");
        line("`GB/s a host` counts a token once for each host it goes to, its own among them. GB are 1e9 bytes.");
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
                        one ? "up to 8" : "16 and more",
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
                "**%s** on %s: %s, %d tokens a rank, top-%d of %s, rows of %d and %d bytes, %s%s%s",
                series.system(),
                series.hardware(),
                name(series.mode()),
                series.tokens(),
                series.topK(),
                series.expertsPerRank() > 0
                        ? series.expertsPerRank() + " experts a rank"
                        : series.experts() + " experts",
                series.dispatchRow(),
                series.combineRow(),
                messages(series),
                series.topGroups() > 0 ? ", at most " + series.topGroups() + " hosts a token" : "",
                series.require().isEmpty() ? "" : ", over " + series.require() + " alone");
        line("");
        String unit = switch (series.unit()) {
            case MICROS -> "us";
            case LOGICAL -> "GB/s";
            case DOMAIN -> "GB/s a host";
        };
        line("| ranks | operation | published, %s | predicted, %s | ratio | limited by |", unit, unit);
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
        line("%s", series.note());
        line("");
    }

    private static String messages(Series series) {
        String out = series.dispatchMessages() == Messages.PER_RANK ? "one message a rank" : "one message an expert";
        if (series.dispatchMessages() == series.combineMessages()) {
            return out;
        }
        return out
                + (series.combineMessages() == Messages.PER_RANK
                        ? ", one row a rank back"
                        : ", one row an expert back");
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
        line("## The hardware as it was described to the planner");
        line("");
        line("| name | GPUs a host | GPU links, GB/s | NICs a GPU | NVLink domain |");
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
                "Left out are published figures that do not name hardware or shape, end-to-end figures of training and serving, and");
        line("kernels that move tokens over PCIe between GPUs without links.");
    }
}
