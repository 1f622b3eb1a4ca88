package org.ep4j.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.ep4j.EpException;
import org.ep4j.cli.BenchTurns.Variant;
import org.ep4j.cli.TrafficOptions.Modes;
import org.ep4j.cli.report.ProgressView;
import org.ep4j.cli.report.TuneCandidate;
import org.ep4j.cli.report.TuneReport;
import org.ep4j.cli.report.TuneReport.Trial;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.TunedSettings;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Measurements of one {@code ep tune}: for each setting its candidates and the default in turns, then the best acceptable
 * candidate and the default in further turns. Each setting is measured with the operations that depend on it, and no operation
 * depends on two of them.
 */
final class TuneRun {
    /** Values below and above the default, 2 MiB; caches of processors have 1 MiB to several 100 MiB. */
    private static final List<String> NON_TEMPORAL_BYTES = List.of("512KiB", "8MiB", "32MiB");

    /** Numbers of multiprocessors in high throughput, as multiples of the default, which leaves many to other kernels. */
    private static final List<Double> HIGH_THROUGHPUT = List.of(1.0 / 2, 2.0 / 3, 4.0 / 3, 2.0);

    /** Numbers of multiprocessors in low latency, as parts of the default: all that the rank may use. */
    private static final List<Double> LOW_LATENCY = List.of(1.0 / 4, 1.0 / 2, 3.0 / 4);

    private static final int FEWEST_SMS = 2;

    private static final String DEFAULTS = "the defaults";

    private final Spec spec;
    private final BenchTurns benches;
    private final ProgressView progress;
    private final List<JsonNode> reports = new ArrayList<>();
    private int done;
    private int total;

    /**
     * Work to do.
     *
     * @param onHost whether ranks run on the host device
     * @param mode modes of which operations are measured
     * @param arguments of a bench that choose ranks, shape and routing
     * @param warmup rounds of each bench that do not count
     * @param iterations rounds of each bench that count
     * @param turns measurements of each variant
     * @param seed of the first turn
     * @param shape for which is measured
     * @param command returns the command that runs {@code ep} in a JVM with the given options and those of this JVM
     */
    record Spec(
            boolean onHost,
            Modes mode,
            List<String> arguments,
            int warmup,
            int iterations,
            int turns,
            long seed,
            TunedSettings.Shape shape,
            Function<List<String>, List<String>> command) {}

    /**
     * A setting to be tuned.
     *
     * @param key of the setting
     * @param usual the default
     * @param values candidates
     * @param mode of the benches
     */
    record Search(ConfigKey<?> key, String usual, List<String> values, Modes mode) {}

    TuneRun(Spec spec, BenchTurns benches, ProgressView progress) {
        this.spec = spec;
        this.benches = benches;
        this.progress = progress;
    }

    /** Returns the settings that apply to a device and a mode. */
    static List<ConfigKey<?>> keys(boolean onHost, Modes mode) {
        if (onHost) {
            return List.of(EpKeys.HOST_NON_TEMPORAL_BYTES);
        }
        return switch (mode) {
            case HT -> List.of(EpKeys.GPU_SMS);
            case LL -> List.of(EpKeys.LOW_LATENCY_SMS);
            case BOTH -> List.of(EpKeys.GPU_SMS, EpKeys.LOW_LATENCY_SMS);
        };
    }

    /**
     * Runs all benches, and chooses by their times.
     *
     * @throws ExitCodes.RankFailedException when a bench failed
     * @throws EpException when the benches did not run on the same devices
     */
    TuneReport run() {
        JsonNode first = first();
        List<Search> searches = searches(first);
        total = spec.turns()
                * searches.stream()
                        .map(Search::values)
                        .filter(values -> !values.isEmpty())
                        .mapToInt(values -> 1 + values.size() + 2)
                        .sum();
        List<Trial> trials = searches.stream().map(this::trial).toList();
        return TuneReport.of(first.path("environment"), fingerprint(), spec.shape(), spec.turns(), spec.seed(), trials);
    }

    /** Runs a short bench, whose times do not count: it says which devices there are, and what their defaults are. */
    private JsonNode first() {
        List<String> arguments = bench(spec.mode(), 0, 1);
        if (!spec.onHost()) {
            arguments.add("--chain=" + GpuBenchOptions.NO_CHAINS);
        }
        JsonNode first =
                benches.bench(variant(DEFAULTS, Map.of()), arguments, spec.seed(), "the bench before the first turn");
        reports.add(first);
        return first;
    }

    /** Returns the arguments of a bench, but its seed. */
    private List<String> bench(Modes mode, int warmup, int iterations) {
        List<String> arguments = new ArrayList<>(List.of("bench"));
        arguments.addAll(spec.arguments());
        arguments.addAll(List.of(
                "--mode=" + mode.name().toLowerCase(Locale.ROOT),
                "--no-validate",
                "--warmup=" + warmup,
                "--iterations=" + iterations));
        return arguments;
    }

    /** Returns the arguments of a bench that counts, but its seed: on GPUs, with chains of the low-latency tokens of the shape. */
    private List<String> bench(Modes mode) {
        List<String> arguments = bench(mode, spec.warmup(), spec.iterations());
        if (!spec.onHost() && mode != Modes.HT) {
            int tokens = spec.shape().maxLowLatencyTokens();
            arguments.add("--chain="
                    + (tokens > GpuBenchOptions.MOST_LOW_LATENCY_TOKENS ? GpuBenchOptions.NO_CHAINS : tokens));
        }
        return arguments;
    }

    private Variant variant(String name, Map<String, String> settings) {
        List<String> options = new ArrayList<>(List.of("-D" + EpKeys.TUNE.name() + "=off"));
        settings.forEach((setting, value) -> options.add("-D" + setting + "=" + value));
        return Variant.of(name, spec.command().apply(options));
    }

    private List<Search> searches(JsonNode first) {
        if (spec.onHost()) {
            ConfigKey<?> key = EpKeys.HOST_NON_TEMPORAL_BYTES;
            return List.of(new Search(key, key.defaultText(), NON_TEMPORAL_BYTES, spec.mode()));
        }
        JsonNode gpu = first.path("runs").path(0).path("gpu");
        int few = number(gpu, "highThroughputSms");
        int all = number(gpu, "lowLatencySms");
        int most = spec.mode() == Modes.HT ? share(number(gpu, "processors"), first) : all;
        Search highThroughput =
                new Search(EpKeys.GPU_SMS, Integer.toString(few), sms(few, HIGH_THROUGHPUT, most), Modes.HT);
        Search lowLatency =
                new Search(EpKeys.LOW_LATENCY_SMS, Integer.toString(all), sms(all, LOW_LATENCY, all), Modes.LL);
        return Stream.of(highThroughput, lowLatency)
                .filter(search -> spec.mode() == Modes.BOTH || spec.mode() == search.mode())
                .toList();
    }

    /** Returns how many multiprocessors a rank may use on the GPU that the most ranks share. */
    private static int share(int processors, JsonNode report) {
        Fingerprint group = read(report.path("environment").path("fingerprint"));
        int sharing = (group.ranks() + group.devices() - 1) / group.devices();
        return Math.max(1, processors / sharing);
    }

    private static int number(JsonNode gpu, String name) {
        int number = gpu.path(name).asInt(0);
        if (number < 1) {
            throw new EpException("the first bench did not report runs[0].gpu." + name
                    + ", the number that candidates are chosen by; report this as an error of ep4j");
        }
        return number;
    }

    /** Returns parts and multiples of the default number, rounded, without this number itself. */
    private static List<String> sms(int usual, List<Double> factors, int most) {
        return factors.stream()
                .map(factor -> Math.round(factor * usual))
                .filter(number -> number >= FEWEST_SMS && number <= most && number != usual)
                .distinct()
                .map(String::valueOf)
                .toList();
    }

    private Trial trial(Search search) {
        String setting = search.key().name();
        if (search.values().isEmpty()) {
            return Trial.of(setting, search.usual(), List.of(), Optional.empty());
        }
        List<TuneCandidate> candidates = measure(search, search.values(), spec.seed());
        Optional<TuneCandidate> best = TuneCandidate.best(candidates);
        if (best.isEmpty()) {
            total -= 2 * spec.turns();
        }
        // The best of several is partly the luckiest; data that did not choose it can judge it.
        Optional<TuneCandidate> confirmation =
                best.map(candidate -> measure(search, List.of(candidate.value()), spec.seed() + spec.turns())
                        .get(0));
        return Trial.of(setting, search.usual(), candidates, confirmation);
    }

    /**
     * Measures values of a setting and its default in turns.
     *
     * @param seed of the first turn
     */
    private List<TuneCandidate> measure(Search search, List<String> values, long seed) {
        String setting = search.key().name();
        Variant usual = variant(DEFAULTS, Map.of());
        Map<String, Variant> others = new LinkedHashMap<>();
        values.forEach(value -> others.put(value, variant(setting + "=" + value, Map.of(setting, value))));
        List<Variant> all = new ArrayList<>(List.of(usual));
        all.addAll(others.values());
        benches.measure(all, bench(search.mode()), spec.turns(), seed, what -> {
            done++;
            progress.step(done, total, what);
        });
        all.forEach(variant -> reports.addAll(variant.reports()));
        return others.entrySet().stream()
                .map(other -> TuneCandidate.of(
                        other.getKey(), usual.reports(), other.getValue().reports()))
                .toList();
    }

    /** Returns the fingerprint of all benches. */
    private Fingerprint fingerprint() {
        List<Fingerprint> found = reports.stream()
                .map(report -> report.path("environment").path("fingerprint"))
                .distinct()
                .map(TuneRun::read)
                .toList();
        if (found.size() > 1) {
            throw new EpException("the devices or the plan changed during the measurement, from "
                    + found.get(0).text() + " to " + found.get(1).text()
                    + "; nothing is kept: repeat it when the machine stays as it is");
        }
        return found.get(0);
    }

    private static Fingerprint read(JsonNode json) {
        if (!json.isObject()) {
            throw new EpException("a bench did not report environment.fingerprint; report this as an error of ep4j");
        }
        try {
            return JsonMapper.shared().treeToValue(json, Fingerprint.class);
        } catch (JacksonException e) {
            throw new EpException("a bench reported a damaged environment.fingerprint: " + e.getOriginalMessage(), e);
        }
    }
}
