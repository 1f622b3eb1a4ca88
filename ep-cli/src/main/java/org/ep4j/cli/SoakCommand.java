package org.ep4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.launch.LaunchSpec;
import org.ep4j.cli.report.Terminal;
import org.ep4j.cli.report.TextFile;
import org.ep4j.cli.soak.Fault;
import org.ep4j.cli.soak.FaultChoice;
import org.ep4j.cli.soak.ShmFolder;
import org.ep4j.cli.soak.SoakReport;
import org.ep4j.cli.soak.SoakRun;
import org.ep4j.cli.soak.SoakSpec;
import org.ep4j.cli.soak.Surroundings;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.tck.Subjects;
import org.ep4j.tck.TckSubject;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ep soak}: exchanges under faults until the time is over, every element compared. */
@Command(
        name = "soak",
        description = {
            "Exchange tokens in both modes under faults, for minutes or for a night, and compare every element that arrives.",
            "In every round a group of ranks is formed on this machine, exchanges with random tokens, routing, layouts and"
                    + " formats, and one fault is injected at a random moment. Survivors must recover and agree, a rank that was"
                    + " left out must be told so within a second, nobody may return a wrong row, hang, or leave descriptors,"
                    + " threads, mappings or files behind.",
            "Faults: none; kill, double-kill: SIGKILL of one rank, or of two within 50 ms; stop: SIGSTOP beyond the heartbeat"
                    + " timeout, and SIGCONT when the others have recovered; pause: a stop within it; partition: the same as stop"
                    + " with two ranks; slow: ranks that sleep between operations; reset: connections of the rendezvous are reset;"
                    + " skewed-close: buffers closed at different times, and a rank that leaves; shm-full: no room for shared"
                    + " memory (host-shm); port-down: an RDMA port goes down (ibrc-multiqp, as root); all: all that can be"
                    + " injected here."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:nothing happened that must not",
            "1:a wrong row, a hang, a leak, or another problem that the report names",
            "2:wrong usage, setting or argument",
            "3:the backend is not available here",
            "5:an error inside ep4j",
        })
final class SoakCommand implements Callable<Integer> {
    private static final Duration ON_TERMINAL = Duration.ofSeconds(10);
    private static final Duration ELSEWHERE = Duration.ofSeconds(60);
    private static final String HEARTBEAT = "100ms";
    private static final String HEARTBEAT_TIMEOUT = "2s";
    private static final String TIMEOUT = "5s";
    private static final String SETUP_TIMEOUT = "30s";
    private static final String SHM_DIR = "ep.shm.dir";
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final int LONGEST_HOLD_MILLIS = 60_000;
    private static final int HIDDEN_STEP = 16;

    /** What ranks are. */
    enum ModeChoice {
        /** Processes. */
        PROCESSES,
        /** Threads of one JVM. */
        THREADS
    }

    @Option(
            names = "--faults",
            paramLabel = "LIST",
            split = ",",
            defaultValue = FaultChoice.ALL,
            description = "Faults that are injected in turn, out of the list above. Default: ${DEFAULT-VALUE}.")
    private List<String> faults = List.of();

    @Option(
            names = "--duration",
            paramLabel = "TIME",
            description = "Time after which no round begins, for example 30m or 8h. Default: 10m, without --rounds.")
    private Optional<String> duration = Optional.empty();

    @Option(names = "--rounds", paramLabel = "N", description = "Rounds at most.")
    private Optional<Integer> rounds = Optional.empty();

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            defaultValue = "host-shm",
            description = "Backend that alone may be used. Default: ${DEFAULT-VALUE}.")
    private String backend = "host-shm";

    @Option(
            names = "--device",
            paramLabel = "D",
            defaultValue = "host",
            description = "Device of every rank. Default: ${DEFAULT-VALUE}.")
    private String device = "host";

    @Option(names = "--ranks", paramLabel = "N", defaultValue = "4", description = "Ranks. Default: ${DEFAULT-VALUE}.")
    private int ranks;

    @Option(
            names = "--mode",
            paramLabel = "MODE",
            defaultValue = "processes",
            description =
                    "Ranks are processes, or threads without the faults that are signals. Default: ${DEFAULT-VALUE}.")
    private ModeChoice mode = ModeChoice.PROCESSES;

    @Option(
            names = "--seed",
            paramLabel = "S",
            description = "What everything random is drawn from. Default: a new one, which is printed.")
    private Optional<Long> seed = Optional.empty();

    @Option(
            names = "--hidden",
            paramLabel = "H",
            defaultValue = "0",
            description =
                    "Elements of a row, a multiple of 16; 0 draws them for each round. Default: ${DEFAULT-VALUE}.")
    private int hidden;

    @Option(
            names = "--tokens",
            paramLabel = "T",
            defaultValue = "128",
            description = "Most tokens of a rank. Default: ${DEFAULT-VALUE}.")
    private int tokens;

    @Option(
            names = "--hold",
            paramLabel = "MS",
            defaultValue = "5",
            description =
                    "Longest pause between a dispatch and its combine, in milliseconds. Default: ${DEFAULT-VALUE}.")
    private int hold;

    @Option(
            names = "--counters",
            paramLabel = "WHERE",
            defaultValue = "zero",
            description =
                    "Where the counters of operations start: zero, near-2-32 (which they cross), near-2-63, or mixed."
                            + " Default: ${DEFAULT-VALUE}.")
    private String counters = "zero";

    @Option(
            names = "--set",
            paramLabel = "NAME=VALUE",
            description = "A setting of every group, for example ep.timeout=10s. May be repeated.")
    private Map<String, String> settings = new TreeMap<>();

    @Option(names = "--json", paramLabel = "FILE", description = "Write the report to this file.")
    private Optional<Path> json = Optional.empty();

    @Option(
            names = "--logs",
            paramLabel = "DIR",
            description = "Folder for the logs of the ranks. Default: a new one in the folder for temporary files.")
    private Optional<Path> logs = Optional.empty();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Made by picocli. */
    SoakCommand() {}

    @Override
    public Integer call() {
        check();
        json.ifPresent(TextFile::checkFolder);
        EpConfig config = config();
        List<String> missing =
                Subjects.unavailable(TckSubject.of(backend, device).with(settings));
        if (!missing.isEmpty()) {
            throw new EpUnavailableException(
                    backend + " on " + device + " is not available here: " + String.join("; ", missing));
        }
        boolean files = filesOfSharedMemory();
        Optional<ShmFolder> folder = files ? Optional.of(folder()) : Optional.empty();
        try {
            FaultChoice choice = FaultChoice.of(faults, surroundings(folder));
            return run(choice, config, folder);
        } finally {
            folder.ifPresent(ShmFolder::close);
        }
    }

    private void check() {
        ModelOptions.range("--ranks", ranks, 2, LaunchSpec.MAX_RANKS, "exchanges need two");
        ModelOptions.range("--tokens", tokens, 1, EpShape.MAX_TOKENS, "name a number in this range");
        ModelOptions.range("--hold", hold, 0, LONGEST_HOLD_MILLIS, "0 holds nothing");
        Map.of(EpKeys.REQUIRE.name(), "--backend", EpKeys.DEVICE.name(), "--device")
                .forEach((name, option) -> {
                    if (settings.containsKey(name)) {
                        throw new EpArgumentException(
                                "--set", name + "=" + settings.get(name), "another setting", "use " + option);
                    }
                });
        rounds.ifPresent(n -> ModelOptions.range("--rounds", n, 1, Integer.MAX_VALUE, "run at least one"));
        if (hidden != 0 && (hidden < HIDDEN_STEP || hidden % HIDDEN_STEP != 0 || hidden > EpShape.MAX_HIDDEN)) {
            throw new EpArgumentException(
                    "--hidden",
                    hidden,
                    "0, or a multiple of " + HIDDEN_STEP + " in [" + HIDDEN_STEP + ", " + EpShape.MAX_HIDDEN + "]",
                    "0 draws it for each round");
        }
        counters();
        duration();
        List<String> known = ServiceLoader.load(EpBackendProvider.class).stream()
                .map(provider -> provider.get().id())
                .sorted()
                .toList();
        if (!known.contains(backend)) {
            throw new EpUnavailableException("backend " + backend + " is not on the class path, which has: "
                    + String.join(", ", known) + "; correct --backend, or add its artifact");
        }
    }

    private SoakSpec.Counters counters() {
        for (SoakSpec.Counters one : SoakSpec.Counters.values()) {
            if (word(one).equals(counters)) {
                return one;
            }
        }
        throw new EpArgumentException(
                "--counters", counters, "zero, near-2-32, near-2-63 or mixed", "leave it out for zero");
    }

    private static String word(SoakSpec.Counters one) {
        return one.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }

    private Duration duration() {
        String text = duration.orElse(rounds.isPresent() ? "8760h" : "10m");
        try {
            return ConfigKey.duration("--duration", "10m", "").parser().apply(text);
        } catch (IllegalArgumentException e) {
            throw new EpArgumentException(
                    "--duration", text, "a duration above zero such as 90s, 30m or 8h", "add the unit", e);
        }
    }

    /** The settings of every group: short times, so that a round with a fault takes seconds. */
    private Map<String, String> allSettings() {
        Map<String, String> all = new TreeMap<>();
        all.put(EpKeys.REQUIRE.name(), backend);
        all.put(EpKeys.DEVICE.name(), device);
        all.put(EpKeys.BOOTSTRAP_HEARTBEAT.name(), HEARTBEAT);
        all.put(EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT.name(), HEARTBEAT_TIMEOUT);
        all.put(EpKeys.TIMEOUT.name(), TIMEOUT);
        all.put(EpKeys.SETUP_TIMEOUT.name(), SETUP_TIMEOUT);
        all.putAll(settings);
        return all;
    }

    /** Refuses settings that are unknown or malformed, as joining does. */
    private EpConfig config() {
        EpConfig.Builder builder = EpConfig.builder();
        allSettings().forEach(builder::set);
        EpConfig config = builder.build();
        List<ConfigKey<?>> keys = new ArrayList<>(EpKeys.all());
        ServiceLoader.load(EpBackendProvider.class).forEach(provider -> keys.addAll(provider.configKeys()));
        config.check(keys);
        Duration heartbeat = config.get(EpKeys.BOOTSTRAP_HEARTBEAT);
        Duration silence = config.get(EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT);
        if (heartbeat.multipliedBy(2).compareTo(silence) > 0) {
            throw new EpArgumentException(
                    EpKeys.BOOTSTRAP_HEARTBEAT.name(),
                    heartbeat.toMillis() + " ms",
                    "at most half of " + EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT.name() + ", which is " + silence.toMillis()
                            + " ms",
                    "set one of them");
        }
        Duration timeout = config.get(EpKeys.TIMEOUT);
        if (Duration.ofMillis(hold).multipliedBy(2).compareTo(timeout) > 0) {
            throw new EpArgumentException(
                    "--hold",
                    hold + " ms",
                    "at most half of " + EpKeys.TIMEOUT.name() + ", which is " + timeout.toMillis() + " ms",
                    "hold less, or pass --set " + EpKeys.TIMEOUT.name());
        }
        return config;
    }

    private boolean onHost() {
        return Device.parse(device).type().equals(Device.HOST.type());
    }

    private boolean filesOfSharedMemory() {
        return onHost() && backend.equals("host-shm");
    }

    /** One that can be filled up where that is asked for and this process may make it. */
    private ShmFolder folder() {
        boolean full = faults.contains(FaultChoice.ALL) || faults.contains(Fault.SHM_FULL.word());
        Optional<String> named = Optional.ofNullable(settings.get(SHM_DIR));
        if (full && named.isEmpty()) {
            Optional<ShmFolder> mounted = ShmFolder.mounted();
            if (mounted.isPresent()) {
                return mounted.get();
            }
        }
        Path usual = Files.isDirectory(SHARED_MEMORY)
                ? SHARED_MEMORY
                : Path.of(System.getProperty("java.io.tmpdir", "/tmp"));
        return ShmFolder.in(named.map(Path::of).orElse(usual));
    }

    private Surroundings surroundings(Optional<ShmFolder> folder) {
        return Surroundings.here(
                backend,
                mode == ModeChoice.PROCESSES,
                ranks,
                folder.map(ShmFolder::problem)
                        .orElse(Optional.of("buffers of " + backend + " do not lie in a folder")));
    }

    private int run(FaultChoice choice, EpConfig config, Optional<ShmFolder> folder) {
        Map<String, String> all = allSettings();
        folder.ifPresent(f -> all.put(SHM_DIR, f.path().toString()));
        SoakSpec work = new SoakSpec(
                backend,
                device,
                ranks,
                mode == ModeChoice.PROCESSES,
                choice.faults(),
                seed.orElseGet(() -> new SecureRandom().nextInt(Integer.MAX_VALUE) + 0L),
                rounds.orElse(0),
                duration(),
                hidden,
                tokens,
                Duration.ofMillis(hold),
                counters(),
                all,
                config.get(EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT),
                config.get(EpKeys.TIMEOUT),
                config.get(EpKeys.SETUP_TIMEOUT),
                logFolder());
        PrintWriter out = spec.commandLine().getOut();
        header(out, work, choice);
        long start = System.nanoTime();
        SoakRun run = new SoakRun(work, folder, problem -> {
            out.println(SoakReport.shortened(problem));
            out.flush();
        });
        SoakReport report = new SoakReport(work, run.statistics(), repeat(work));
        Duration pause = Terminal.present() ? ON_TERMINAL : ELSEWHERE;
        long[] shown = {start};
        run.run(() -> {
            if (System.nanoTime() - shown[0] >= pause.toNanos()) {
                shown[0] = System.nanoTime();
                out.println(report.progress(Duration.ofNanos(System.nanoTime() - start)));
                out.flush();
            }
        });
        Duration elapsed = Duration.ofNanos(System.nanoTime() - start);
        out.print(report.text(elapsed));
        out.flush();
        json.ifPresent(file -> TextFile.writeJson(file, report.json(elapsed, environment())));
        return run.statistics().passed() ? ExitCodes.OK : ExitCodes.CHECK_FAILED;
    }

    private Path logFolder() {
        try {
            return logs.isPresent()
                    ? Files.createDirectories(logs.get().toAbsolutePath())
                    : Files.createTempDirectory("ep-soak-logs-");
        } catch (IOException e) {
            throw new EpArgumentException(
                    "--logs",
                    logs.map(Path::toString).orElse(System.getProperty("java.io.tmpdir", "/tmp")),
                    "a folder that can be made and written",
                    "name another one (" + e.getClass().getSimpleName() + ": " + e.getMessage() + ")",
                    e);
        }
    }

    private void header(PrintWriter out, SoakSpec work, FaultChoice choice) {
        out.println("ep4j " + Versions.ep4j() + ", Java " + Runtime.version() + ": soak of " + backend + " on " + device
                + ", " + ranks + " ranks as " + word(mode) + ", seed " + work.seed());
        out.println("faults: " + words(choice.faults()));
        new TreeMap<>(choice.leftOut()).forEach((fault, why) -> out.println("without " + fault.word() + ": " + why));
        out.println("settings: "
                + work.shownSettings().entrySet().stream()
                        .map(e -> e.getKey() + "=" + e.getValue())
                        .collect(Collectors.joining(" ")));
        out.println("again: " + repeat(work));
        out.println("logs: " + work.logs());
        out.flush();
    }

    private static String word(ModeChoice mode) {
        return mode == ModeChoice.PROCESSES ? "processes" : "threads";
    }

    private static String words(List<Fault> faults) {
        return faults.stream().map(Fault::word).collect(Collectors.joining(","));
    }

    private String repeat(SoakSpec work) {
        StringBuilder text = new StringBuilder("./ep soak --faults " + words(work.faults()) + " --seed " + work.seed()
                + " --backend " + backend + " --device " + device + " --ranks " + ranks + " --mode " + word(mode));
        rounds.ifPresent(n -> text.append(" --rounds ").append(n));
        duration.ifPresent(d -> text.append(" --duration ").append(d));
        text.append(" --hidden ").append(hidden);
        text.append(" --tokens ").append(tokens).append(" --hold ").append(hold);
        text.append(" --counters ").append(counters);
        settings.forEach((name, value) -> {
            if (!name.equals(EpKeys.BOOTSTRAP_SECRET.name())) {
                text.append(" --set ").append(name).append('=').append(value);
            }
        });
        return text.toString();
    }

    private static Map<String, Object> environment() {
        Map<String, Object> here = new LinkedHashMap<>();
        here.put("ep4j", Versions.ep4j());
        here.put("java", Runtime.version().toString());
        here.put("os", System.getProperty("os.name", "") + " " + System.getProperty("os.version", ""));
        here.put("processors", Runtime.getRuntime().availableProcessors());
        return here;
    }
}
