package org.ep4j.cli;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfigException;
import org.ep4j.EpShape;
import org.ep4j.cli.plan.PlanAnalysis;
import org.ep4j.cli.plan.PlanReport;
import org.ep4j.cli.plan.PlanReport.Variable;
import org.ep4j.cli.plan.PlanRequest;
import org.ep4j.cli.plan.PlanSettings;
import org.ep4j.cli.plan.PlanTables;
import org.ep4j.cli.plan.SimulatedRanks;
import org.ep4j.cli.plan.SimulatedRanks.GpuLinks;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.cli.report.TextFile;
import org.ep4j.cli.topo.MachineFile;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Objective;
import org.ep4j.topology.model.Printable;
import org.ep4j.topology.model.Topology;
import org.ep4j.transport.CacheFolder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code ep plan}: the paths that tokens would take on a machine, and the predicted times. */
@Command(
        name = "plan",
        description = {
            "Show what ep4j would do on this machine, or on the machines that --file describes.",
            "For every pair of ranks, the output shows the backend, the NICs, and why better paths are not available."
                    + " It also shows the buffers, queue pairs and threads that are needed, and the predicted time of a"
                    + " dispatch and a combine, with the resource that limits it."
        })
final class PlanCommand extends Subcommand {
    private static final String STDOUT = "-";
    private static final int MOST_HOSTS = 4096;
    private static final int MOST_RANKS_PER_HOST = 1024;
    private static final Pattern GROUPS = Pattern.compile("(\\+?\\d{1,9}):(\\+?\\d{1,9})");

    private final Map<String, String> environment;

    @Option(
            names = "--merge",
            paramLabel = "FILE",
            description =
                    "Output of ibv_devinfo -v from the machine of --file, for the states, rates and GIDs of its ports."
                            + " RDMA devices that this output does not list are not used.")
    private Optional<Path> merge = Optional.empty();

    @Option(
            names = "--file",
            paramLabel = "FILE",
            description = "Machine to plan for: topology XML of NCCL, RCCL or hwloc, output of nvidia-smi topo -m or"
                    + " rocm-smi --showtopo, or a folder or .tar.gz with a recorded /sys. Default: this"
                    + " machine.")
    private Optional<Path> file = Optional.empty();

    @Option(
            names = "--hosts",
            paramLabel = "N",
            description = "Number of hosts to plan for, as copies of this machine or of the hosts in --file, in turn."
                    + " Default: one without --file, else the number of hosts in --file.")
    private Optional<Integer> hosts = Optional.empty();

    @Option(
            names = "--ranks-per-host",
            paramLabel = "N",
            description = "Ranks per host. Default: one per GPU, or one per NUMA node if there is no GPU.")
    private Optional<Integer> ranksPerHost = Optional.empty();

    @Option(
            names = "--domain-hosts",
            paramLabel = "N",
            description =
                    "Number of hosts that share an NVLink domain. Default: if the GPUs belong to an NVLink clique,"
                            + " the number of hosts that together have 72 GPUs, or the number of hosts in --file if that is"
                            + " larger; otherwise no hosts share an NVLink domain.")
    private Optional<Integer> domainHosts = Optional.empty();

    @Option(
            names = "--gpu-links",
            paramLabel = "WHERE",
            defaultValue = "auto",
            description = "Links between the GPUs of a host. file: the links that this machine or --file shows. all:"
                    + " links between every two GPUs. none: no links. auto: as with file; but if no links are shown, the"
                    + " links that GPUs of this model always have. Default: ${DEFAULT-VALUE}.")
    private GpuLinks gpuLinks = GpuLinks.AUTO;

    @Option(names = "--host-device", description = "Plan ranks on the host device, even if there are GPUs.")
    private boolean hostDevice;

    @Option(
            names = "--tokens",
            paramLabel = "T",
            defaultValue = "4096",
            description = "Tokens per rank in high-throughput mode. Default: ${DEFAULT-VALUE}.")
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

    @Option(names = "--require", paramLabel = "ID", split = ",", description = "The only backends that may be used.")
    private List<String> require = List.of();

    @Option(
            names = "--prefer",
            paramLabel = "ID",
            split = ",",
            description = "Backends to prefer, in this order, if they offer a path.")
    private List<String> prefer = List.of();

    @Option(names = "--exclude", paramLabel = "ID", split = ",", description = "Backends never to use.")
    private List<String> exclude = List.of();

    @Option(
            names = "--nic-map",
            paramLabel = "MAP",
            defaultValue = "",
            description = "NICs of each GPU, for example 0:mlx5_0:1,1:mlx5_1:1; written as in ep.nic.map.")
    private String nicMap = "";

    @Option(
            names = "--nic-include",
            paramLabel = "LIST",
            defaultValue = "",
            description = "The only NICs that may be used, written as in ep.nic.include.")
    private String nicInclude = "";

    @Option(names = "--nic-exclude", paramLabel = "LIST", defaultValue = "", description = "NICs never to use.")
    private String nicExclude = "";

    @Option(
            names = "--set",
            paramLabel = "NAME=VALUE",
            description = "Setting, for example ep.lanes=4. May be repeated.")
    private Map<String, String> set = new TreeMap<>();

    @Option(
            names = "--from-env",
            description = {
                "Before the plan, list each environment variable of NCCL, NVSHMEM, UCCL, MSCCL++, DeepEP and ep4j with"
                        + " its effect here, or the reason why it has no effect. The plan applies the variables with or"
                        + " without this option."
            })
    private boolean fromEnv;

    @Option(
            names = "--json",
            paramLabel = "FILE",
            arity = "0..1",
            fallbackValue = STDOUT,
            description = "Write the plan as JSON to this file;"
                    + " without a file name, print the JSON instead of the tables.")
    private Optional<String> json = Optional.empty();

    PlanCommand() {
        this(System.getenv());
    }

    /** Takes the cache folder from an environment, and settings from this process. */
    PlanCommand(Map<String, String> environment) {
        this.environment = Map.copyOf(environment);
    }

    @Override
    int run() {
        PlanSettings settings = settings();
        List<Variable> variables = fromEnv ? settings.variables() : List.of();
        check(settings, variables);
        PlanRequest request = request(settings, variables);
        Topology machine = MachineFile.read(file, merge);
        PlanReport report = PlanAnalysis.of(machine, request);
        if (json.filter(STDOUT::equals).isPresent()) {
            out().println(report.json());
        } else {
            printVariables(variables);
            out().print(Printable.text(PlanTables.of(report)));
            json.ifPresent(to -> TextFile.write(Path.of(to), report.json()));
        }
        return ExitCodes.OK;
    }

    /** Checks the settings; a variable that is refused is explained, too. */
    private void check(PlanSettings settings, List<Variable> variables) {
        try {
            settings.check();
        } catch (EpConfigException e) {
            if (fromEnv && json.filter(STDOUT::equals).isPresent()) {
                out().println(PlanReport.json(variables));
            } else {
                printVariables(variables);
            }
            throw e;
        }
    }

    private void printVariables(List<Variable> variables) {
        if (fromEnv) {
            out().print(PlanTables.of(variables));
            out().flush();
        }
    }

    private PlanRequest request(PlanSettings settings, List<Variable> variables) {
        model.check();
        ModelOptions.checkTokens("--tokens", tokens);
        ModelOptions.checkTokens("--ll-tokens", traffic.lowLatencyTokens);
        SimulatedRanks.Options simulation = new SimulatedRanks.Options(
                number("--hosts", hosts, MOST_HOSTS),
                number("--ranks-per-host", ranksPerHost, MOST_RANKS_PER_HOST),
                number("--domain-hosts", domainHosts, MOST_HOSTS),
                gpuLinks,
                hostDevice ? "host" : "");
        int[] limited = groups();
        return new PlanRequest(
                simulation,
                settings,
                variables,
                objective(),
                EpShape.builder(model.hidden, model.experts, model.topK)
                        .maxTokens(traffic.mode == TrafficOptions.Modes.LL ? 0 : tokens)
                        .maxLowLatencyTokens(traffic.mode == TrafficOptions.Modes.HT ? 0 : traffic.lowLatencyTokens)
                        .build(),
                traffic.dtype == Wire.FP8,
                limited[0],
                limited[1],
                file.isEmpty(),
                file.isEmpty() ? CacheFolder.of(environment) : Optional.empty());
    }

    private PlanSettings settings() {
        Map<String, String> given = new TreeMap<>(set);
        putIfGiven(given, EpKeys.BACKEND_REQUIRE, String.join(",", require));
        putIfGiven(given, EpKeys.BACKEND_PREFER, String.join(",", prefer));
        putIfGiven(given, EpKeys.BACKEND_EXCLUDE, String.join(",", exclude));
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
        Matcher given = GROUPS.matcher(groups);
        if (given.matches()) {
            int all = Integer.parseInt(given.group(1));
            int chosen = Integer.parseInt(given.group(2));
            if (chosen >= 1 && all >= chosen && model.experts % all == 0) {
                return new int[] {all, chosen};
            }
        }
        throw new EpArgumentException(
                "--expert-groups",
                groups,
                "G:N with 1 <= N <= G, and G a divisor of the " + model.experts + " experts",
                "DeepSeek-V3 has 8:4");
    }
}
