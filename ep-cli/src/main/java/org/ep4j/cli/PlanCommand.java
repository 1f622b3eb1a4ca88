package org.ep4j.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.ep4j.EpArgumentException;
import org.ep4j.cli.plan.PlanBenchmark;
import org.ep4j.cli.plan.PlanReport;
import org.ep4j.cli.plan.PlanRequest;
import org.ep4j.cli.plan.PlanSettings;
import org.ep4j.cli.plan.PlanStudy;
import org.ep4j.cli.plan.PlanTables;
import org.ep4j.cli.plan.SimulationOptions;
import org.ep4j.cli.plan.SimulationOptions.GpuLinks;
import org.ep4j.cli.rank.WorkSpec.Wire;
import org.ep4j.cli.report.TextFile;
import org.ep4j.cli.topo.MachineFile;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Objective;
import org.ep4j.topology.Topology;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ep plan}: which way tokens would take on a machine, and how long. */
@Command(
        name = "plan",
        description = {
            "Show what ep4j would do on this machine, or on a cluster of described ones.",
            "For every pair of ranks: the backend, the NICs, and why better paths are not there; what buffers, queue pairs and"
                    + " threads it takes; and the predicted time of a dispatch and a combine, with what limits it."
        })
final class PlanCommand implements Callable<Integer> {
    private static final String STDOUT = "-";
    private static final int MOST_HOSTS = 4096;
    private static final int MOST_RANKS_PER_HOST = 1024;
    private static final int BENCHMARK_ROUNDS = 5;

    @Option(
            names = "--merge",
            paramLabel = "FILE",
            description = "Output of ibv_devinfo -v of the same machine, for states, rates and GIDs of its ports.")
    private Optional<Path> merge = Optional.empty();

    @Option(
            names = "--file",
            paramLabel = "FILE",
            description =
                    "Machine to plan for: topology XML of NCCL, RCCL or hwloc, output of nvidia-smi topo -m or rocm-smi"
                            + " --showtopo, or a folder or .tar.gz with a recorded /sys. By default this machine.")
    private Optional<Path> file = Optional.empty();

    @Option(
            names = "--hosts",
            paramLabel = "N",
            description = "Number of such hosts. By default as many as the file describes.")
    private Optional<Integer> hosts = Optional.empty();

    @Option(
            names = "--ranks-per-host",
            paramLabel = "N",
            description = "Ranks of a host. By default one a GPU, or one a NUMA node where there is no GPU.")
    private Optional<Integer> ranksPerHost = Optional.empty();

    @Option(
            names = "--domain-hosts",
            paramLabel = "N",
            description = "Hosts that share an NVLink domain. By default what the file says.")
    private Optional<Integer> domainHosts = Optional.empty();

    @Option(
            names = "--gpu-links",
            paramLabel = "WHERE",
            defaultValue = "auto",
            description =
                    "Links between the GPUs of a host: file (as described), all (every pair), none, or auto: as described,"
                            + " and where nothing is, by the model of the GPUs. Default: ${DEFAULT-VALUE}.")
    private GpuLinks gpuLinks = GpuLinks.AUTO;

    @Option(names = "--host-device", description = "Plan ranks on the host device, also where there are GPUs.")
    private boolean hostDevice;

    @Option(
            names = "--tokens",
            paramLabel = "T",
            defaultValue = "4096",
            description = "Tokens a rank in high-throughput mode. Default: ${DEFAULT-VALUE}.")
    private int tokens;

    @Mixin
    private TrafficOptions traffic = new TrafficOptions();

    @Mixin
    private ModelOptions model = new ModelOptions();

    @Option(
            names = "--expert-groups",
            paramLabel = "G:N",
            defaultValue = "1:1",
            description = "Group-limited routing: a token first chooses N of G groups of experts. Default: none.")
    private String groups = "1:1";

    @Option(names = "--require", paramLabel = "ID", split = ",", description = "Backends that alone may be used.")
    private List<String> require = List.of();

    @Option(
            names = "--prefer",
            paramLabel = "ID",
            split = ",",
            description = "Backends to take where they have a path.")
    private List<String> prefer = List.of();

    @Option(names = "--exclude", paramLabel = "ID", split = ",", description = "Backends never to use.")
    private List<String> exclude = List.of();

    @Option(
            names = "--nic-map",
            paramLabel = "MAP",
            defaultValue = "",
            description = "NICs of each GPU, as 0:mlx5_0:1,1:mlx5_1:1.")
    private String nicMap = "";

    @Option(
            names = "--nic-include",
            paramLabel = "LIST",
            defaultValue = "",
            description = "NICs that alone may be used, as in ep.nic.include.")
    private String nicInclude = "";

    @Option(names = "--nic-exclude", paramLabel = "LIST", defaultValue = "", description = "NICs never to use.")
    private String nicExclude = "";

    @Option(
            names = "--set",
            paramLabel = "NAME=VALUE",
            description = "A setting, for example ep.lanes=4. May be repeated.")
    private Map<String, String> set = new TreeMap<>();

    @Option(
            names = "--benchmark",
            paramLabel = "RANKS",
            description =
                    "Measure how long this command, planning in a group, and the tables of one rank take for so many"
                            + " ranks, instead of planning for a machine.")
    private Optional<Integer> benchmark = Optional.empty();

    @Option(
            names = "--all",
            description = "Show also why backends for other devices or NICs than there are were not taken.")
    private boolean all;

    @Option(
            names = "--json",
            paramLabel = "FILE",
            arity = "0..1",
            fallbackValue = STDOUT,
            description = "Write the plan as JSON to this file, or print it instead of the tables where none is named.")
    private Optional<String> json = Optional.empty();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Made by picocli. */
    PlanCommand() {}

    @Override
    public Integer call() {
        if (benchmark.isPresent()) {
            return measure(benchmark.get());
        }
        PlanRequest request = request();
        Topology machine = MachineFile.read(file, merge);
        PlanReport report = PlanStudy.of(machine, request);
        PrintWriter out = spec.commandLine().getOut();
        if (json.filter(STDOUT::equals).isPresent()) {
            out.println(report.json());
        } else {
            out.print(PlanTables.of(report, all));
            json.ifPresent(to -> TextFile.write(Path.of(to), report.json()));
        }
        out.flush();
        return ExitCodes.OK;
    }

    private Integer measure(int ranks) {
        PrintWriter out = spec.commandLine().getOut();
        out.println(PlanBenchmark.run(ranks, BENCHMARK_ROUNDS).text());
        out.flush();
        return ExitCodes.OK;
    }

    private PlanRequest request() {
        model.check();
        ModelOptions.checkTokens("--tokens", tokens);
        traffic.check();
        SimulationOptions simulation = new SimulationOptions(
                number("--hosts", hosts, MOST_HOSTS),
                number("--ranks-per-host", ranksPerHost, MOST_RANKS_PER_HOST),
                number("--domain-hosts", domainHosts, MOST_HOSTS),
                gpuLinks,
                hostDevice ? "host" : "");
        int[] limited = groups();
        PlanSettings settings = settings();
        return new PlanRequest(
                simulation,
                settings.options(objective()),
                settings.config(),
                settings.ofProcess(),
                model.hidden,
                model.experts,
                model.topK,
                traffic.mode == TrafficOptions.Modes.LL ? 0 : tokens,
                traffic.mode == TrafficOptions.Modes.HT ? 0 : traffic.lowLatencyTokens,
                traffic.dtype == Wire.FP8,
                limited[0],
                limited[1]);
    }

    private PlanSettings settings() {
        Map<String, String> given = new TreeMap<>(set);
        putIfGiven(given, EpKeys.REQUIRE, String.join(",", require));
        putIfGiven(given, EpKeys.PREFER, String.join(",", prefer));
        putIfGiven(given, EpKeys.EXCLUDE, String.join(",", exclude));
        putIfGiven(given, EpKeys.NIC_MAP, nicMap);
        putIfGiven(given, EpKeys.NIC_INCLUDE, nicInclude);
        putIfGiven(given, EpKeys.NIC_EXCLUDE, nicExclude);
        return PlanSettings.of(given);
    }

    private static void putIfGiven(Map<String, String> given, ConfigKey<?> key, String value) {
        if (!value.isBlank()) {
            given.put(key.name(), value);
        }
    }

    private Objective objective() {
        return switch (traffic.mode) {
            case LL -> Objective.LOW_LATENCY;
            case HT -> Objective.HIGH_THROUGHPUT;
            case BOTH -> Objective.BALANCED;
        };
    }

    private static int number(String option, Optional<Integer> value, int most) {
        value.ifPresent(given -> ModelOptions.range(option, given, 1, most, "name a number in this range"));
        return value.orElse(0);
    }

    private int[] groups() {
        String[] parts = groups.split(":", -1);
        try {
            int all = Integer.parseInt(parts[0]);
            int chosen = Integer.parseInt(parts[parts.length - 1]);
            if (parts.length == 2 && chosen >= 1 && all >= chosen && model.experts % all == 0) {
                return new int[] {all, chosen};
            }
        } catch (NumberFormatException e) {
            throw badGroups(e);
        }
        throw badGroups(new NumberFormatException("out of range"));
    }

    private EpArgumentException badGroups(NumberFormatException cause) {
        return new EpArgumentException(
                "--expert-groups",
                groups,
                "G:N with 1 <= N <= G, and G a divisor of the " + model.experts + " experts",
                "DeepSeek-V3 has 8:4",
                cause);
    }
}
