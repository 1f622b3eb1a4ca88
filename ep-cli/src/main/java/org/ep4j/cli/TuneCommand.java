package org.ep4j.cli;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.TrafficOptions.Modes;
import org.ep4j.cli.report.HostFacts;
import org.ep4j.cli.report.ProgressView;
import org.ep4j.cli.report.TextFile;
import org.ep4j.cli.report.TuneReport;
import org.ep4j.cli.report.Wrapped;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.TunedSettings;
import org.ep4j.plan.TunedSettings.Shape;
import org.ep4j.transport.CacheFolder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code ep tune}: values of a few settings with which dispatch and combine are fastest on this machine, for one shape. */
@Command(
        name = "tune",
        description = {
            "Measure which values of a few settings make dispatch and combine fastest on this machine, and keep them for"
                    + " buffers of the measured shape. The settings are ep.gpu.sms (high throughput) and"
                    + " ep.gpu.low-latency.sms (low latency) on GPUs, and ep.host.non-temporal-bytes on the host device.",
            "For each setting, benches of this build with the default value and with several other values measure in"
                    + " turns, each in processes of its own. The ratio of an operation is its time with the value divided by"
                    + " its time with the default in the same turn. An operation is slower if its median ratio is above"
                    + " 1.01 and its ratio is above 1 in at least three quarters of the turns. It is faster if its median"
                    + " ratio is below 0.99 and its ratio is below 1 in every turn. A value is acceptable if no operation is"
                    + " slower and at least one is faster. Of the acceptable values, the one with the smallest geometric"
                    + " mean of the ratios of all operations is proposed.",
            "The proposed value is measured against the default again, in as many turns with other data and routing. It is"
                    + " kept only if it is acceptable again and one of the operations that were faster is faster again."
                    + " Otherwise the setting keeps its default. Each setting is chosen by the operations that depend on it:"
                    + " low latency does not depend on ep.gpu.sms, nor high throughput on ep.gpu.low-latency.sms.",
            "On GPUs, benches of low latency also measure chains of --ll-tokens tokens, up to "
                    + GpuBenchOptions.MOST_LOW_LATENCY_TOKENS
                    + ", as bench --chain does; chains count as operations. Nothing else runs on the GPU meanwhile: time"
                    + " that kernels of a model lose to more multiprocessors for ep4j is not measured. On the host device,"
                    + " --mode ll leaves out the high-throughput dispatch of the low-latency tokens.",
            "The result is kept in the cache folder (EP_CACHE_DIR, else ep4j in XDG_CACHE_HOME or ~/.cache). Buffers use it"
                    + " if they have the model and tokens of the measurement, and if their group has the same kind of"
                    + " device, the same numbers of ranks, hosts and devices, and the same backends. Settings that you set"
                    + " yourself always win, and ep.tune=off ignores what was measured. This command is not for use under"
                    + " torchrun, mpirun or srun."
        })
final class TuneCommand extends Subcommand {
    private static final int FEWEST_TURNS = 3;

    private final Map<String, String> environment;

    @Option(
            names = "--ranks",
            paramLabel = "N",
            defaultValue = "2",
            description = "Number of ranks. Default: ${DEFAULT-VALUE}.")
    private int ranks;

    @Option(
            names = "--tokens",
            paramLabel = "T",
            defaultValue = "4096",
            description =
                    "Tokens per rank in high-throughput mode. The result is for buffers with this maxTokens; with --mode"
                            + " ll, for buffers with maxTokens 0. Default: ${DEFAULT-VALUE}.")
    private int tokens;

    @Mixin
    private TrafficOptions traffic = new TrafficOptions();

    @Mixin
    private ShapeOptions shape = new ShapeOptions();

    @Mixin
    private RoutingOptions routing = new RoutingOptions();

    @Option(
            names = "--warmup",
            paramLabel = "N",
            defaultValue = "10",
            description = "Warm-up rounds of each bench, not measured. Default: ${DEFAULT-VALUE}.")
    private int warmup;

    @Option(
            names = "--iterations",
            paramLabel = "N",
            defaultValue = "10",
            description = "Measured rounds of each bench. Default: ${DEFAULT-VALUE}.")
    private int iterations;

    @Option(
            names = "--turns",
            paramLabel = "N",
            defaultValue = "5",
            description =
                    "Number of benches with each value, at least " + FEWEST_TURNS + ". Default: ${DEFAULT-VALUE}.")
    private int turns;

    @Option(
            names = "--seed",
            paramLabel = "N",
            description =
                    "Seed for data and routing of the first turn; it increases by one with each turn. By default it"
                            + " is taken from the clock.")
    private Optional<Long> seed = Optional.empty();

    @Option(names = "--json", paramLabel = "FILE", description = "Write all times of all turns as JSON to this file.")
    private Optional<Path> json = Optional.empty();

    @Option(names = "--dry-run", description = "Measure and print, but keep nothing.")
    private boolean dryRun;

    @Option(
            names = "--forget",
            description =
                    "Measure nothing, but remove what earlier runs have kept in the cache folder, for every shape and"
                            + " machine.")
    private boolean forget;

    TuneCommand() {
        this(System.getenv());
    }

    /** Takes cache folder, launcher and settings from an environment; the benches have the environment of this process. */
    TuneCommand(Map<String, String> environment) {
        this.environment = Map.copyOf(environment);
    }

    @Override
    int run() {
        if (forget) {
            return forget();
        }
        LaunchedRanks.refuse(environment, "the command", "tune");
        check();
        Optional<Path> folder = dryRun ? Optional.empty() : Optional.of(folder());
        folder.ifPresent(TuneCommand::checkWritable);
        json.ifPresent(TextFile::checkFolder);
        String unused = unused();
        HostFacts host = HostFacts.here();
        TuneReport report = measure();
        out().println();
        out().print(report.text());
        out().print(host.loadWarning());
        out().println();
        report.choices()
                .forEach(choice -> out().print(
                                Wrapped.line(choice.setting() + "=" + choice.value() + " (" + choice.reason() + ")")));
        try {
            out().print(Wrapped.of(
                    "",
                    folder.map(where -> keep(where, report) + unused)
                            .orElse("Nothing is kept (--dry-run); what an earlier run has kept remains.")));
        } finally {
            // The times of a long run, also where its result cannot be kept.
            json.ifPresent(file -> TextFile.writeJson(file, report));
        }
        return ExitCodes.OK;
    }

    private void check() {
        ModelOptions.range("--turns", turns, FEWEST_TURNS, 1000, "fewer turns do not tell a gain from noise");
        shape.check(ranks, iterations);
        ModelOptions.checkTokens("--tokens", tokens);
        ModelOptions.checkTokens("--ll-tokens", traffic.lowLatencyTokens);
        ModelOptions.range("--warmup", warmup, 0, 1_000_000, "0 means no warm-up: the first round is measured too");
        routing.check(shape.model);
        TuneRun.keys(shape.device.onHost(), traffic.mode).forEach(this::refuseExplicit);
    }

    /** Returns the settings of this process. */
    private EpConfig config() {
        Map<String, String> properties = System.getProperties().stringPropertyNames().stream()
                .collect(Collectors.toMap(name -> name, name -> System.getProperty(name, "")));
        return EpConfig.builder(properties, environment).build();
    }

    /** Refuses to tune a setting that is given explicitly: every bench would use that value. */
    private void refuseExplicit(ConfigKey<?> key) {
        Setting setting = key.setting(config());
        if (setting.origin() == Origin.DEFAULT) {
            return;
        }
        String name = setting.place();
        throw new EpArgumentException(
                name,
                setting.text(),
                "left out while " + key.name() + " is tuned, since it always wins over a tuned value",
                "remove " + name + " from the environment or the options of the JVM to tune this setting");
    }

    private Path folder() {
        return CacheFolder.of(environment)
                .orElseThrow(() -> new EpUnavailableException("there is no cache folder for tuned settings: the first"
                        + " of EP_CACHE_DIR, XDG_CACHE_HOME and HOME that is set must be the path of a folder; set"
                        + " EP_CACHE_DIR to one"));
    }

    /** Checks before a long run that its result can be kept. */
    private static void checkWritable(Path folder) {
        Path there = folder.toAbsolutePath();
        Path above = there.getParent();
        while (above != null && !Files.exists(there)) {
            there = above;
            above = above.getParent();
        }
        if (!Files.isDirectory(there) || !Files.isWritable(there)) {
            throw new EpUnavailableException("cannot keep tuned settings in " + folder + ": " + there + " is no folder"
                    + " that can be written; set EP_CACHE_DIR to one that can, or add --dry-run");
        }
    }

    private TuneReport measure() {
        boolean highThroughput = traffic.mode != Modes.LL;
        boolean lowLatency = traffic.mode != Modes.HT;
        TuneRun.Spec work = new TuneRun.Spec(
                shape.device.onHost(),
                traffic.mode,
                benchArguments(),
                warmup,
                iterations,
                turns,
                seed.orElseGet(System::nanoTime),
                new Shape(
                        shape.model.hidden,
                        shape.model.experts,
                        shape.model.topK,
                        highThroughput ? tokens : 0,
                        lowLatency ? traffic.lowLatencyTokens : 0),
                options -> LocalRanks.javaCommand(options, Main.class.getName(), List.of()));
        try (BenchTurns benches = new BenchTurns(BenchTurns.DEADLINE);
                ProgressView progress =
                        ProgressView.of(spec.name(), spec.commandLine().getErr())) {
            return new TuneRun(work, benches, progress).run();
        }
    }

    /** Returns the options of this command that its benches have, too. */
    private List<String> benchArguments() {
        List<String> arguments = new ArrayList<>(List.of(
                "--ranks=" + ranks,
                "--tokens=" + tokens,
                "--ll-tokens=" + traffic.lowLatencyTokens,
                "--dtype=" + traffic.dtype.name().toLowerCase(Locale.ROOT),
                "--hidden=" + shape.model.hidden,
                "--topk=" + shape.model.topK,
                "--experts=" + shape.model.experts,
                "--skew=" + routing.skew,
                "--expert-groups=" + routing.expertGroups,
                "--groups-per-token=" + routing.groupsPerToken));
        if (!shape.device.given.isEmpty()) {
            arguments.add("--device=" + shape.device.given);
        }
        if (!shape.backend.isEmpty()) {
            arguments.add("--backend=" + shape.backend);
        }
        return arguments;
    }

    /** Writes the record, also one of defaults that are best, and returns what buffers do with it. */
    private String keep(Path folder, TuneReport report) {
        TunedSettings tuned = new TunedSettings(
                report.fingerprint(),
                report.shape(),
                report.choices(),
                LocalDate.now(ZoneOffset.UTC).toString(),
                EpCommand.version());
        Path file = tuned.write(folder);
        return "Kept in " + file + " for buffers of " + report.shape().text() + " on "
                + report.fingerprint().text() + ": "
                + (report.choices().isEmpty() ? "they use the defaults." : "they use these values from now on.")
                + " To undo this: ./ep tune --forget, which removes what was measured for every shape and machine from"
                + " this folder, or ep.tune=off (EP_TUNE=off).";
    }

    /** Returns a sentence where buffers ignore what is kept; else an empty text. */
    private String unused() {
        EpConfig config = config();
        return EpKeys.TUNE.get(config).equals("off")
                ? " At present nothing that is kept is used, since "
                        + EpKeys.TUNE.setting(config).place() + " is off."
                : "";
    }

    private int forget() {
        if (dryRun) {
            throw new EpArgumentException(
                    "--forget",
                    "given",
                    "used without --dry-run",
                    "leave one of the two out: --forget measures nothing");
        }
        Path folder = folder();
        int removed = TunedSettings.removeAll(folder);
        out().println("removed " + removed + (removed == 1 ? " file" : " files") + " with tuned settings from "
                + folder);
        return ExitCodes.OK;
    }
}
