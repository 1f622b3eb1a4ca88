package org.ep4j.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.ep4j.EpArgumentException;
import org.ep4j.RowLayout;
import org.ep4j.cli.doctor.SharedMemory;
import org.ep4j.cli.gpu.GpuOperation;
import org.ep4j.cli.gpu.GpuSpec;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.ExchangeSpec.Part;
import org.ep4j.cli.report.BenchPlots;
import org.ep4j.cli.report.BenchReport;
import org.ep4j.cli.report.ComparisonReport;
import org.ep4j.cli.report.FigureTable;
import org.ep4j.cli.report.Figures;
import org.ep4j.cli.report.GpuFigures;
import org.ep4j.cli.report.GpuReport;
import org.ep4j.cli.report.HostFacts;
import org.ep4j.cli.report.TextFile;
import org.ep4j.cli.report.Wrapped;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code ep bench}: dispatch and combine, against the fastest way to do the same with rows in memory. */
@Command(
        name = "bench",
        description = {
            "Measure dispatch and combine between rank processes on this machine; under torchrun, mpirun or srun,"
                    + " between the processes that the launcher started.",
            "In every measured round, all ranks start together with new data and new random routing; the round ends"
                    + " when its slowest rank is done. In the same rounds, every rank also copies, sums and casts the"
                    + " same number of rows within its own memory, in several ways; the shortest of these times is"
                    + " called the ceiling. GB are 1e9 bytes; logical bytes include rows that a rank sends to itself,"
                    + " wire bytes do not.",
            "On GPUs, GPU events measure the time, rounds cycle through four sets of data and routing, and the ceiling"
                    + " is the time of a kernel that moves the same rows between addresses that are known in advance."
        })
final class BenchCommand extends Subcommand {
    private static final String LEGEND =
            "HT: high throughput; LL: low latency. The time of a round is the time of its slowest rank, in microseconds;"
                    + " MB, rows and rates are averages over ranks. slowest: the largest median of any rank, with that"
                    + " rank in parentheses. p99: 99th percentile, or the longest where there are fewer than 100 rounds."
                    + " ceiling: time of the same copies, sums and casts within each rank's own"
                    + " memory, by all ranks at once, in the same rounds; ratio = ceiling / median. in place: combine"
                    + " reads the rows from EpBuffer.combineInput() or nextLowLatencyCombineInput(). staged: combine"
                    + " reads the rows from memory outside the buffer. rank-partial: each rank sends one sum for a token."
                    + " alloc B: bytes that a call allocates on the JVM's"
                    + " heap in its thread, with a request that was built before, median of rounds after the measured ones;"
                    + " in dispatch + combine, the request of the combine is built between the two calls and counts.";

    private static final String GPU_LEGEND =
            "Times in microseconds. GPU: median over all ranks and rounds, measured with events on the stream. slowest:"
                    + " the time of the slowest rank of each round, median over rounds; p99: 99th percentile of the same"
                    + " times, or the longest where there are fewer than 100 rounds. MB: rows that a rank receives in a"
                    + " round. ceiling: time of a kernel that moves the same rows, with the same routing, between addresses"
                    + " known in advance, on the same number of multiprocessors; ratio = slowest / ceiling. send, receive:"
                    + " the halves of an operation with the receive hook; a receive begins when all ranks' sending kernels have ended, and the"
                    + " MB are those of the send. Halves have no ceiling, nor have by-expert operations that also copy or"
                    + " add up rows inside a rank.";

    private static final String HOST_SIDE_LEGEND =
            "call: microseconds from the call until the host saw that the operation had ended. host: microseconds until an"
                    + " asynchronous call returned. queued: microseconds per operation when 8 operations of few tokens are"
                    + " queued back to back, where the time of a combine includes its dispatch. Halves have neither: with the"
                    + " receive hook, a call returns when its half has ended. alloc B: bytes that a call allocates on the"
                    + " JVM's heap in its thread, with a request that was built before, median; in a pair, the request of"
                    + " the combine is built between the two calls and counts.";

    private static final String CHAIN_LEGEND =
            "Chains: 128 pairs of an FP8 dispatch and a combine, queued back to back, so the host never waits for the GPU"
                    + " inside a chain; the ranks meet at a barrier before each chain. The first 16 pairs do not count."
                    + " Times in microseconds per pair, measured with events around the other 112. queued: the host makes"
                    + " every call. graph: recorded graphs of 16 pairs, 56 pairs and 56 pairs are replayed. period: median"
                    + " over ranks of each rank's median over its chains. min, max: smallest and largest of these medians."
                    + " spread: (90th percentile - 10th percentile) / median of the slowest rank of each chain. drift:"
                    + " by how much longer the second 56 pairs took than the first 56, median.";

    /** Row orders, as they are written on the command line. */
    enum LayoutChoice {
        BY_RANK("by-rank"),
        BY_EXPERT("by-expert");

        private final String text;

        LayoutChoice(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    @Option(
            names = "--ranks",
            paramLabel = "N",
            defaultValue = "2",
            description = "Number of ranks. Default: ${DEFAULT-VALUE}.")
    private int ranks;

    @Option(
            names = "--tokens",
            paramLabel = "T",
            defaultValue = "1024",
            description = "Tokens per rank in high-throughput mode. Default: ${DEFAULT-VALUE}.")
    private int tokens;

    @Mixin
    private TrafficOptions traffic = new TrafficOptions();

    @Mixin
    private ShapeOptions shape = new ShapeOptions();

    @Option(
            names = "--layout",
            paramLabel = "ORDER",
            defaultValue = "by-rank",
            description = "Row order of high-throughput dispatches: by-rank or by-expert. Default: ${DEFAULT-VALUE}.")
    private LayoutChoice layout = LayoutChoice.BY_RANK;

    @Mixin
    private RoutingOptions routing = new RoutingOptions();

    @Option(
            names = "--warmup",
            paramLabel = "N",
            defaultValue = "40",
            description =
                    "Warm-up rounds, not measured. Where all ranks run on the host device of one machine, short rounds of"
                            + " 1 or 2 tokens come first, so that the JVM has compiled the code: 150 short rounds"
                            + " for each warm-up round, but for at most 4 s per mode. Default: ${DEFAULT-VALUE}.")
    private int warmup;

    @Option(
            names = "--iterations",
            paramLabel = "N",
            defaultValue = "30",
            description = "Measured rounds. Default: ${DEFAULT-VALUE}.")
    private int iterations;

    @Option(
            names = "--validate",
            negatable = true,
            defaultValue = "true",
            fallbackValue = "true",
            description =
                    "Compare every element with the reference: on the host in the last round, on GPUs in a separate round of"
                            + " at most 256 tokens per rank before the measurement. On by default.")
    private boolean validate;

    @Option(
            names = "--seed",
            paramLabel = "N",
            description = "Seed for data and routing; by default it is taken from the clock.")
    private Optional<Long> seed = Optional.empty();

    @Option(names = "--json", paramLabel = "FILE", description = "Write all measurements as JSON to this file.")
    private Optional<Path> json = Optional.empty();

    @Option(names = "--plot", paramLabel = "FILE", description = "Draw the results to this PNG file.")
    private Optional<Path> plot = Optional.empty();

    @Mixin
    private GpuBenchOptions gpu = new GpuBenchOptions();

    @Mixin
    private ComparisonOptions otherBuild = new ComparisonOptions();

    @Override
    int run() {
        otherBuild.check(spec.commandLine().getParseResult());
        return otherBuild.folder.isPresent()
                ? compare(otherBuild.folder.get())
                : LaunchedRanks.runOrServe(System.getenv(), this::measure);
    }

    /** Runs benches of this build and of another one in turns. */
    private int compare(Path folder) {
        LaunchedRanks.refuse(System.getenv(), "--compare", folder);
        check();
        if (!shape.device.onHost()) {
            gpu.chainTokens(gpu.chosen(traffic.mode));
        }
        json.ifPresent(TextFile::checkFolder);
        HostFacts host = HostFacts.here();
        ComparisonReport report = BuildComparison.run(spec, otherBuild, folder, seed.orElseGet(System::nanoTime));
        out().println();
        out().print(report.text());
        out().print(host.loadWarning());
        json.ifPresent(file -> TextFile.writeJson(file, report));
        return otherBuild.failed(report) ? ExitCodes.CHECK_FAILED : ExitCodes.OK;
    }

    private int measure(Optional<LaunchedRanks> launched) {
        if (gpu.from.isPresent()) {
            gpu.check();
            gpu.draw(GpuReport.read(gpu.from.get()));
            return ExitCodes.OK;
        }
        ranks = launched.map(all -> all.ranks(spec, ranks)).orElse(ranks);
        check();
        json.ifPresent(TextFile::checkFolder);
        plot.ifPresent(TextFile::checkFolder);
        seed = seed.or(() -> Optional.of(System.nanoTime()));
        boolean onHost = shape.device.onHost();
        if (launched.isEmpty() && onHost) {
            SharedMemory.check(hostWork(""));
        }
        HostFacts host = HostFacts.here();
        return RankJob.withBarrierFile(
                launched, file -> onHost ? onHost(host, file, launched) : onGpus(host, file, launched));
    }

    private int onHost(HostFacts host, String barrierFile, Optional<LaunchedRanks> launched) {
        ExchangeSpec work = hostWork(barrierFile);
        RankJob.Outcome outcome = RankJob.exchange(spec, launched, work);
        BenchReport report = BenchReport.of(
                RankJob.environment(
                        spec,
                        host,
                        outcome.joined().backends(),
                        shape.device.name(),
                        outcome.joined().fingerprint(),
                        launched),
                work,
                outcome.figures(),
                outcome.sent());
        show(report);
        show(outcome.joined().notes());
        out().print(host.loadWarning());
        json.ifPresent(file -> TextFile.writeJson(file, report));
        plot.ifPresent(file -> BenchPlots.times(report, file));
        return ExitCodes.of(outcome.figures());
    }

    private int onGpus(HostFacts host, String barrierFile, Optional<LaunchedRanks> launched) {
        List<GpuOperation> operations = gpu.chosen(traffic.mode);
        List<Integer> highThroughputTokens = gpu.tokens(Mode.HT, tokens);
        List<Integer> lowLatencyTokens = gpu.tokens(Mode.LL, traffic.lowLatencyTokens);
        List<Integer> chainTokens = gpu.chainTokens(operations);
        List<GpuSpec> specs = new ArrayList<>();
        for (int sms : gpu.sms.isEmpty() ? List.of(0) : gpu.sms) {
            // Low latency does not depend on it.
            List<GpuOperation> of = specs.isEmpty()
                    ? operations
                    : operations.stream().filter(o -> o.mode() == Mode.HT).toList();
            if (!of.isEmpty()) {
                ExchangeSpec comparison = work(
                        GpuSpec.compared(of, highThroughputTokens, lowLatencyTokens),
                        0,
                        1,
                        validate && specs.isEmpty(),
                        false,
                        barrierFile.isEmpty() ? "" : barrierFile + "-" + specs.size());
                specs.add(new GpuSpec(
                        comparison,
                        highThroughputTokens,
                        lowLatencyTokens,
                        sms,
                        gpu.lowLatencySms,
                        of,
                        warmup,
                        iterations,
                        specs.isEmpty() ? chainTokens : List.of()));
            }
        }
        GpuBench.Outcome outcome = GpuBench.run(spec, gpu.ranksAs, launched, specs);
        List<GpuReport.Run> runs = outcome.runs();
        GpuReport report = new GpuReport(
                GpuReport.FORMAT,
                RankJob.environment(
                        spec, host, runs.get(0).backends(), shape.device.name(), outcome.fingerprint(), launched),
                ranks,
                gpu.ranksAs.name().toLowerCase(Locale.ROOT),
                shape.model.hidden,
                shape.model.topK,
                shape.model.experts,
                routing.skew,
                routing.expertGroups,
                routing.groupsPerToken,
                warmup,
                iterations,
                seed.orElseThrow(),
                runs);
        show(report);
        show(outcome.notes());
        json.ifPresent(file -> TextFile.writeJson(file, report));
        gpu.draw(report);
        return report.valid() ? ExitCodes.OK : ExitCodes.CHECK_FAILED;
    }

    /** Prints what {@code ./ep tune} has measured for such groups. */
    private void show(List<String> notes) {
        notes.forEach(note -> out().print(Wrapped.line(note)));
        out().flush();
    }

    private void show(GpuReport report) {
        PrintWriter out = out();
        GpuReport.Run first = report.runs().get(0);
        out.println();
        out.print(Wrapped.of(
                "",
                report.ranks() + " ranks as " + report.ranksAs() + " over " + String.join(", ", first.backends())
                        + "; rank 0: " + first.gpu().gpu() + ", " + first.gpu().processors()
                        + " multiprocessors; hidden " + report.hidden() + ", top-" + report.topK() + " of "
                        + report.experts() + " experts"
                        + RoutingOptions.text(report.expertGroups(), report.groupsPerToken()) + "; " + iterations
                        + " rounds after " + warmup));
        out.println();
        out.print(FigureTable.gpuTimes(report));
        out.println();
        out.print(Wrapped.of("", GPU_LEGEND));
        out.println(String.format(
                Locale.ROOT,
                "For comparison, a kernel that does nothing takes %.1f us, measured with events in the same way.",
                first.operations().stream()
                        .mapToDouble(GpuFigures::emptyMicros)
                        .min()
                        .orElse(Double.NaN)));
        FigureTable.sentByPath(report).forEach(line -> out.print(Wrapped.line(line)));
        report.runs().forEach(run -> FigureTable.sent(run.sent()).forEach(line -> out.print(Wrapped.line(line))));
        out.println();
        out.print(FigureTable.gpuHostSide(report));
        out.println();
        out.print(Wrapped.of("", HOST_SIDE_LEGEND));
        if (!first.chains().isEmpty()) {
            out.println();
            out.print(FigureTable.chains(first.chains()));
            out.println();
            out.print(Wrapped.of("", CHAIN_LEGEND));
        }
        out.println(first.validatedElements() + " elements compared with the reference before measuring.");
        report.runs().forEach(run -> run.problems().forEach(problem -> out.println("WRONG " + problem)));
        out.flush();
    }

    private void check() {
        gpu.check();
        if (shape.device.onHost() && gpu.used()) {
            throw new EpArgumentException(
                    "--device",
                    shape.device.name(),
                    "a GPU with --ops, --sweep, --sms, --ll-sms, --chain, --ranks-as, --plot-sweep and --plot-sms",
                    "add --device cuda, or leave these options out");
        }
        shape.check(ranks, iterations);
        ModelOptions.checkTokens("--tokens", tokens);
        ModelOptions.checkTokens("--ll-tokens", traffic.lowLatencyTokens);
        if (warmup < 0) {
            throw new EpArgumentException(
                    "--warmup", warmup, ">= 0", "0 means no warm-up: the first round is measured too");
        }
        routing.check(shape.model);
    }

    private ExchangeSpec hostWork(String barrierFile) {
        RowLayout rows = layout == LayoutChoice.BY_RANK ? RowLayout.BY_RANK : RowLayout.BY_EXPERT;
        List<Part> parts = new ArrayList<>();
        if (traffic.mode != TrafficOptions.Modes.LL) {
            parts.add(new Part(Mode.HT, tokens, traffic.dtype, rows, true));
        }
        if (traffic.mode != TrafficOptions.Modes.HT) {
            parts.add(new Part(Mode.LL, traffic.lowLatencyTokens, traffic.dtype, rows, true));
        }
        return work(parts, warmup, iterations, validate, true, barrierFile);
    }

    private ExchangeSpec work(
            List<Part> parts, int uncounted, int counted, boolean compared, boolean ceilings, String barrierFile) {
        return new ExchangeSpec(
                ranks,
                shape.device.given,
                shape.backend,
                shape.model.hidden,
                shape.model.topK,
                shape.model.experts,
                parts,
                routing.skew,
                routing.expertGroups,
                routing.groupsPerToken,
                uncounted,
                counted,
                compared,
                1,
                ceilings,
                seed.orElseThrow(),
                barrierFile);
    }

    private void show(BenchReport report) {
        PrintWriter out = out();
        out.println();
        out.print(Wrapped.of(
                "",
                report.environment().machine().cpu() + ", "
                        + report.environment().machine().cores() + " cores; " + report.ranks()
                        + " ranks over "
                        + String.join(", ", report.environment().backends()) + "; hidden "
                        + report.hidden() + ", top-" + report.topK() + " of " + report.experts() + " experts"
                        + RoutingOptions.text(report.expertGroups(), report.groupsPerToken()) + ", " + report.dtype()
                        + " dispatch, " + iterations + " rounds after " + warmup));
        out.println();
        out.print(FigureTable.bench(report.operations()));
        out.println();
        out.print(Wrapped.of("", LEGEND));
        long compared = report.operations().stream()
                .mapToLong(Figures::validatedElements)
                .sum();
        if (compared > 0) {
            out.printf(Locale.ROOT, "%,d elements compared with the reference.%n", compared);
        }
        report.operations().stream()
                .filter(f -> !f.ceilingWay().isEmpty())
                .forEach(f -> out.print(Wrapped.line("ceiling of " + f.operation() + ": " + f.ceilingWay())));
        report.lowLatencyAdvantage()
                .ifPresent(times -> out.print(Wrapped.line(String.format(
                        Locale.ROOT,
                        "Low-latency dispatch of %d tokens is %.2f times as fast as the same exchange through high-throughput mode.",
                        traffic.lowLatencyTokens,
                        times))));
        FigureTable.sent(report.sent()).forEach(line -> out.print(Wrapped.line(line)));
        report.operations().stream()
                .filter(f -> !f.valid())
                .forEach(f -> out.println("WRONG " + FigureTable.label(f.operation()) + ": " + f.problem()));
        out.flush();
    }
}
