package org.ep4j.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.EpArgumentException;
import org.ep4j.cli.gpu.GpuOperation;
import org.ep4j.cli.gpu.GpuSpec;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.report.BenchPlots;
import org.ep4j.cli.report.GpuReport;
import picocli.CommandLine.Option;

/** Options of bench that only GPUs have. */
final class GpuBenchOptions {
    enum Kind {
        PROCESSES,
        THREADS
    }

    /** Low latency is for the few tokens of decoding; its buffers grow with tokens times ranks times experts. */
    static final int MOST_LOW_LATENCY_TOKENS = 512;

    /** Meaning of 0, and of no number. */
    private static final String NOT_GIVEN =
            "With 0 (the default), the setting decides; if it is not set, what ./ep tune has measured; else the engine.";

    private static final String DEFAULT_CHAINS = "1,8,64,128";
    static final String NO_CHAINS = "none";

    @Option(
            names = "--ops",
            paramLabel = "NAME",
            split = ",",
            description =
                    "GPU: operations to measure, given as prefixes of their names (ht.dispatch, ll, ...); by default"
                            + " all operations of --mode.")
    List<String> operations = new ArrayList<>();

    @Option(
            names = "--sweep",
            paramLabel = "T",
            split = ",",
            description = "GPU: numbers of tokens per rank, each measured separately. In high throughput they replace"
                    + " --tokens. In low latency, numbers up to " + MOST_LOW_LATENCY_TOKENS + " replace --ll-tokens.")
    List<Integer> sweep = new ArrayList<>();

    @Option(
            names = "--sms",
            paramLabel = "N",
            split = ",",
            description =
                    "GPU: numbers of multiprocessors that move rows in high throughput, each measured separately; low"
                            + " latency does not depend on them and is measured once. " + NOT_GIVEN)
    List<Integer> sms = new ArrayList<>();

    @Option(
            names = "--ll-sms",
            paramLabel = "N",
            defaultValue = "0",
            description = "GPU: number of multiprocessors that move rows in low latency. " + NOT_GIVEN)
    int lowLatencySms;

    @Option(
            names = "--chain",
            paramLabel = "TOKENS",
            split = ",",
            description = "GPU: numbers of tokens per rank, up to " + MOST_LOW_LATENCY_TOKENS + ", for which chains are"
                    + " measured: 128 low-latency pairs (an FP8 dispatch and a combine) queued back to back,"
                    + " --iterations times. " + NO_CHAINS + " leaves chains out; so do --mode ht, and --ops without"
                    + " these pairs. Default: " + DEFAULT_CHAINS + ".")
    List<String> chain = new ArrayList<>();

    @Option(
            names = "--ranks-as",
            paramLabel = "KIND",
            defaultValue = "processes",
            description = "GPU: whether ranks are processes, or threads of this process. Default: ${DEFAULT-VALUE}.")
    Kind ranksAs = Kind.PROCESSES;

    @Option(
            names = "--plot-sweep",
            paramLabel = "FILE",
            description = "GPU: write a plot of time over tokens per rank (from --sweep) to this PNG file.")
    Optional<Path> plotSweep = Optional.empty();

    @Option(
            names = "--plot-sms",
            paramLabel = "FILE",
            description = "GPU: write a plot of bandwidth over multiprocessors (from --sms) to this PNG file.")
    Optional<Path> plotSms = Optional.empty();

    @Option(
            names = "--from",
            paramLabel = "FILE",
            description = "GPU: measure nothing, but draw the results in this file, which an earlier run wrote"
                    + " with --json.")
    Optional<Path> from = Optional.empty();

    /** Returns whether one of them was given. */
    boolean used() {
        return !operations.isEmpty()
                || !sweep.isEmpty()
                || !sms.isEmpty()
                || lowLatencySms != 0
                || !chain.isEmpty()
                || ranksAs != Kind.PROCESSES
                || plotSweep.isPresent()
                || plotSms.isPresent();
    }

    void draw(GpuReport report) {
        plotSweep.ifPresent(file -> BenchPlots.sweep(report, file));
        plotSms.ifPresent(file -> BenchPlots.sms(report, file));
    }

    /** Refuses what cannot be measured. */
    void check() {
        if (from.isPresent() && plotSweep.isEmpty() && plotSms.isEmpty()) {
            throw new EpArgumentException(
                    "--from",
                    from.get(),
                    "used with --plot-sweep or --plot-sms",
                    "add one of them, with the PNG file to draw");
        }
        sweep.forEach(t -> ModelOptions.checkTokens("--sweep", t));
        sms.forEach(n -> ModelOptions.range("--sms", n, 0, 4096, "0 leaves the number to the setting"));
        ModelOptions.range("--ll-sms", lowLatencySms, 0, 4096, "0 leaves the number to the setting");
        chainTokens();
    }

    /**
     * Returns the numbers of tokens for which chains are measured.
     *
     * @param measured operations that are measured; without pairs there are no chains
     */
    List<Integer> chainTokens(List<GpuOperation> measured) {
        List<Integer> tokens = chainTokens();
        if (!GpuSpec.pairs(measured).isEmpty()) {
            return tokens;
        }
        if (!chain.isEmpty() && !tokens.isEmpty()) {
            throw new EpArgumentException(
                    "--chain",
                    String.join(",", chain),
                    "used where low-latency pairs are measured",
                    "leave it out, or choose --mode ll or both, and --ops ll.dispatch-fp8+combine");
        }
        return List.of();
    }

    /** Returns the numbers of tokens that are named, or the default ones. */
    private List<Integer> chainTokens() {
        if (chain.equals(List.of(NO_CHAINS))) {
            return List.of();
        }
        List<String> given = chain.isEmpty() ? List.of(DEFAULT_CHAINS.split(",", -1)) : chain;
        return given.stream().map(GpuBenchOptions::number).distinct().toList();
    }

    private static int number(String text) {
        int tokens = text.matches("\\d{1,9}") ? Integer.parseInt(text) : 0;
        if (tokens < 1 || tokens > MOST_LOW_LATENCY_TOKENS) {
            throw new EpArgumentException(
                    "--chain",
                    text,
                    "a number in [1, " + MOST_LOW_LATENCY_TOKENS + "], or " + NO_CHAINS + " alone",
                    "name numbers of tokens, separated by commas");
        }
        return tokens;
    }

    /** Returns the operations of the chosen modes. */
    List<GpuOperation> chosen(TrafficOptions.Modes mode) {
        List<GpuOperation> all = GpuOperation.named(operations).stream()
                .filter(o ->
                        mode == TrafficOptions.Modes.BOTH || (o.mode() == Mode.HT) == (mode == TrafficOptions.Modes.HT))
                .toList();
        if (all.isEmpty()) {
            throw new EpArgumentException(
                    "--ops",
                    operations,
                    "operations of mode " + mode,
                    "leave --mode out, or name operations of this mode");
        }
        return all;
    }

    List<Integer> tokens(Mode mode, int single) {
        if (sweep.isEmpty()) {
            return List.of(single);
        }
        List<Integer> fitting = sweep.stream()
                .filter(t -> mode == Mode.HT || t <= MOST_LOW_LATENCY_TOKENS)
                .toList();
        return fitting.isEmpty() ? List.of(single) : fitting;
    }
}
