package org.ep4j.cli;

import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.ep4j.RowLayout;
import org.ep4j.cli.rank.WorkSpec;
import org.ep4j.cli.rank.WorkSpec.Mode;
import org.ep4j.cli.rank.WorkSpec.Part;
import org.ep4j.cli.rank.WorkSpec.Wire;
import org.ep4j.cli.report.FigureTable;
import org.ep4j.cli.report.Figures;
import org.ep4j.cli.report.ProgressView;
import org.ep4j.cli.report.Wrapped;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ep demo}: real exchanges between processes of this machine, checked to the last element. */
@Command(
        name = "demo",
        description = {
            "Exchange tokens between rank processes, and check every element that arrives. By default the command"
                    + " starts the ranks on this machine; under torchrun, mpirun or srun, the processes that the"
                    + " launcher started are the ranks.",
            "The command runs two exchanges with the shape of DeepSeek-V3: decode (low latency, FP8 dispatch, BF16"
                    + " combine) and prefill (high throughput, BF16). Every element is compared with an independent"
                    + " reference."
        })
final class DemoCommand implements Callable<Integer> {
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

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() {
        return LaunchedRanks.orOwn(System.getenv(), this::run);
    }

    private int run(Optional<LaunchedRanks> launched) {
        ranks = launched.map(all -> all.ranks(spec, ranks)).orElse(ranks);
        PrintWriter out = spec.commandLine().getOut();
        shape.check(ranks, iterations);
        ModelOptions.range("--warmup", warmup, 0, 1_000_000, "0 means no warm-up: the first round is measured too");
        ModelOptions.checkTokens("--decode-tokens", decodeTokens);
        ModelOptions.checkTokens("--prefill-tokens", prefillTokens);
        if (launched.isEmpty() && shape.device.onHost()) {
            RoomForRanks.check(work(""));
        }
        long start = System.nanoTime();
        out.println("ep4j " + EpCommand.version() + ": " + ranks + " ranks as processes"
                + (launched.isPresent() ? "" : " of this machine") + ", hidden " + shape.model.hidden + ", top-"
                + shape.model.topK + " of " + shape.model.experts + " experts");
        out.flush();
        Work.Outcome outcome;
        try (ProgressView progress = ProgressView.of("demo", out)) {
            Work work = new Work(new PrefixedOutput(spec.commandLine()), progress::step, launched);
            outcome = Work.withBarrierFile(launched, file -> work.run(work(file)));
        }
        return report(out, outcome, (System.nanoTime() - start) / 1e9);
    }

    private WorkSpec work(String barrierFile) {
        return new WorkSpec(
                ranks,
                shape.device.given,
                shape.backend,
                shape.model.hidden,
                shape.model.topK,
                shape.model.experts,
                List.of(
                        new Part(Mode.LL, decodeTokens, Wire.FP8, false),
                        new Part(Mode.HT, prefillTokens, Wire.BF16, false)),
                0,
                RowLayout.BY_RANK,
                warmup,
                warmup + iterations,
                true,
                iterations,
                false,
                System.nanoTime(),
                barrierFile);
    }

    private int report(PrintWriter out, Work.Outcome outcome, double seconds) {
        out.println();
        out.println("Plan");
        outcome.joined().explanation().lines().forEach(line -> out.print(Wrapped.line("  " + line)));
        out.println();
        out.print(Wrapped.of(
                "",
                "Results for one rank. us: median time of a call in microseconds, over " + (warmup + iterations)
                        + " calls that followed " + warmup
                        + (warmup == 1 ? " warm-up round" : " warm-up rounds")
                        + ". Each call started when nothing else was running; ./ep bench measures calls in a row. Every element that the"
                        + " last " + iterations + " calls delivered is compared with its expected value."));
        out.print(FigureTable.demo(Map.of("ll", decodeTokens, "ht", prefillTokens), outcome.figures())
                .indent(2));
        boolean valid = outcome.figures().stream().allMatch(Figures::valid);
        outcome.figures().stream()
                .filter(f -> !f.valid())
                .forEach(f -> out.println(FigureTable.label(f.operation()) + ": " + f.problem()));
        out.println();
        long elements =
                outcome.figures().stream().mapToLong(Figures::validatedElements).sum();
        Style style = Style.of(spec);
        out.printf(
                "%s: %,d elements compared, %.1f s%n",
                valid ? style.good("all valid") : style.bad("NOT VALID"), elements, seconds);
        out.flush();
        return ExitCodes.of(outcome.figures());
    }
}
