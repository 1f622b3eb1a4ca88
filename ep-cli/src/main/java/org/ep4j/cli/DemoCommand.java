package org.ep4j.cli;

import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.RowLayout;
import org.ep4j.cli.doctor.SharedMemory;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.ExchangeSpec.Part;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.cli.report.FigureTable;
import org.ep4j.cli.report.Figures;
import org.ep4j.cli.report.Wrapped;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code ep demo}: real exchanges between processes of this machine, checked to the last element. */
@Command(
        name = "demo",
        description = {
            "Exchange tokens between rank processes, and check every element that arrives. By default the command"
                    + " starts the ranks on this machine; under torchrun, mpirun or srun, the processes that the"
                    + " launcher started are the ranks.",
            "The command runs two exchanges with the shape of DeepSeek-V3: decode (low latency, FP8 dispatch, BF16"
                    + " combine) and prefill (high throughput, BF16). Every element is compared with an independent"
                    + " reference. Times are those of cold rounds, and are left out on GPUs; bench measures them."
        })
final class DemoCommand extends Subcommand {
    @Option(
            names = "--ranks",
            paramLabel = "N",
            defaultValue = "4",
            description = "Number of ranks. Default: ${DEFAULT-VALUE}.")
    private int ranks;

    @Option(
            names = "--decode-tokens",
            paramLabel = "T",
            defaultValue = "128",
            description = "Tokens per rank in the decode exchange. Default: ${DEFAULT-VALUE}.")
    private int decodeTokens;

    @Option(
            names = "--prefill-tokens",
            paramLabel = "T",
            defaultValue = "1024",
            description = "Tokens per rank in the prefill exchange. Default: ${DEFAULT-VALUE}.")
    private int prefillTokens;

    @Mixin
    private ShapeOptions shape = new ShapeOptions();

    @Option(
            names = "--iterations",
            paramLabel = "N",
            defaultValue = "3",
            description = "Checked rounds of each exchange: every element is compared. Default: ${DEFAULT-VALUE}.")
    private int iterations;

    /** The first rounds of a process run in code that is not compiled yet, and checking takes the caches from the round after it. */
    @Option(
            names = "--warmup",
            paramLabel = "N",
            defaultValue = "10",
            description =
                    "Rounds of each exchange before the checked ones: N to warm up, then N that are timed but not checked. Default:"
                            + " ${DEFAULT-VALUE}.")
    private int warmup;

    @Override
    int run() {
        return LaunchedRanks.runOrServe(System.getenv(), this::exchange);
    }

    private int exchange(Optional<LaunchedRanks> launched) {
        ranks = launched.map(all -> all.ranks(spec, ranks)).orElse(ranks);
        shape.check(ranks, iterations);
        ModelOptions.range("--warmup", warmup, 0, 1_000_000, "0 means no warm-up: the first round is measured too");
        ModelOptions.checkTokens("--decode-tokens", decodeTokens);
        ModelOptions.checkTokens("--prefill-tokens", prefillTokens);
        if (launched.isEmpty() && shape.device.onHost()) {
            SharedMemory.check(work(""));
        }
        long start = System.nanoTime();
        out().println("ep4j " + EpCommand.version() + ": " + ranks + " ranks as processes"
                + (launched.isPresent() ? "" : " of this machine") + ", hidden " + shape.model.hidden + ", top-"
                + shape.model.topK + " of " + shape.model.experts + " experts");
        out().flush();
        RankJob.Outcome outcome =
                RankJob.withBarrierFile(launched, file -> RankJob.exchange(spec, launched, work(file)));
        return report(outcome, (System.nanoTime() - start) / 1e9);
    }

    private ExchangeSpec work(String barrierFile) {
        return new ExchangeSpec(
                ranks,
                shape.device.given,
                shape.backend,
                shape.model.hidden,
                shape.model.topK,
                shape.model.experts,
                List.of(
                        new Part(Mode.LL, decodeTokens, Wire.FP8, RowLayout.BY_RANK, false),
                        new Part(Mode.HT, prefillTokens, Wire.BF16, RowLayout.BY_RANK, false)),
                0,
                0,
                0,
                warmup,
                warmup + iterations,
                true,
                iterations,
                false,
                System.nanoTime(),
                barrierFile);
    }

    private int report(RankJob.Outcome outcome, double seconds) {
        PrintWriter out = out();
        out.println();
        out.println("Plan");
        outcome.joined().explanation().lines().forEach(line -> out.print(Wrapped.line("  " + line)));
        out.println();
        boolean timed = shape.device.onHost();
        out.print(Wrapped.of(
                "",
                "Results for one rank. Every element that the last " + iterations
                        + " calls delivered is compared with its expected value."
                        + (timed
                                ? " us: median time of a call in microseconds, over " + (warmup + iterations)
                                        + " calls that followed " + warmup
                                        + (warmup == 1 ? " warm-up round." : " warm-up rounds.")
                                : "")));
        out.print(FigureTable.demo(Map.of("ll", decodeTokens, "ht", prefillTokens), outcome.figures(), timed)
                .indent(2));
        out.print(Wrapped.of(
                "",
                timed
                        ? "These are times of cold rounds: each call started when nothing else was running, after few"
                                + " others. ./ep bench measures warm rounds."
                        : "Times are left out on GPUs, since the rounds of a demo are cold: ./ep bench --device "
                                + shape.device.name() + " measures warm rounds."));
        boolean valid = outcome.figures().stream().allMatch(Figures::valid);
        outcome.figures().stream()
                .filter(f -> !f.valid())
                .forEach(f -> out.println(FigureTable.label(f.operation()) + ": " + f.problem()));
        out.println();
        long elements =
                outcome.figures().stream().mapToLong(Figures::validatedElements).sum();
        out.printf(
                "%s: %,d elements compared, %.1f s%n",
                valid ? coloured(Ansi.Style.fg_green, "all valid") : coloured(Ansi.Style.fg_red, "NOT VALID"),
                elements,
                seconds);
        return ExitCodes.of(outcome.figures());
    }
}
