package org.ep4j.backend.nvshmem;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpPath;
import org.ep4j.EpStateException;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.KernelDialect;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.DeviceCode;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;

/** Opens the backend on one rank: all ranks agree on a world of processes, which they create if there is none. For one thread. */
final class NvshmemOpener {
    private final OpenContext context;
    private final Collective collective;
    private final NvshmemProcess process = NvshmemProcess.get();
    private final Set<Purpose> purposes = EnumSet.noneOf(Purpose.class);
    private Optional<DeviceCode> code = Optional.empty();

    NvshmemOpener(OpenContext context) {
        this.context = context;
        this.collective = new Collective(NvshmemProvider.ID, context);
    }

    NvshmemBackend open() {
        Deadline deadline = Deadline.in(context.timeout());
        List<Optional<NvshmemProcess.World>> worlds = collective
                .step("process", deadline, () -> {
                    addPurposes();
                    code = Optional.of(prepare());
                    return NvshmemProcess.Membership.CODEC.encode(new NvshmemProcess.Membership(process.world()));
                })
                .stream()
                .map(one -> NvshmemProcess.Membership.CODEC.decode(one).world())
                .toList();
        Map<Integer, Integer> numbers = new TreeMap<>();
        if (worlds.stream().allMatch(Optional::isEmpty)) {
            initialise(deadline);
        } else {
            collective.step("world", deadline, () -> {
                checkWorld(worlds);
                return new byte[0];
            });
        }
        for (int i = 0; i < worlds.size(); i++) {
            int pe = i;
            numbers.put(
                    collective.ranks().get(i),
                    worlds.get(i).map(NvshmemProcess.World::pe).orElse(pe));
        }
        return new NvshmemBackend(context, collective, gpu(), code.orElseThrow(), purposes, numbers);
    }

    private void addPurposes() {
        GroupPlan plan = GroupPlan.of(context.plan());
        if (plan.uses(NvshmemProvider.ID, EpPath.Kind.MAPPED)) {
            purposes.add(Purpose.MAPPED);
        }
        if (plan.uses(NvshmemProvider.ID, EpPath.Kind.DEVICE_POSTED)) {
            purposes.add(Purpose.DEVICE_POSTED);
        }
    }

    private EngineGpu gpu() {
        if (context.device() instanceof EngineGpu gpu) {
            return gpu;
        }
        throw new EpArgumentException(
                "device", context.device().id(), "an NVIDIA GPU", "set ep.device to cuda, or leave the backend out");
    }

    /** Does this rank's part, for which it needs no other rank. */
    private DeviceCode prepare() {
        Map<String, String> environment = System.getenv();
        Path root = Path.of("/");
        NvshmemInstallation found = NvshmemInstallation.find(NvshmemKeys.HOME.get(context.config()), environment, root);
        process.checkDevice(gpu().id());
        process.load(found);
        FlowLimits limits = NvshmemOffer.limits().with(context.config());
        return code(found, found.cudaHeaders(environment, root), limits);
    }

    static DeviceCode code(NvshmemInstallation found, List<Path> cuda, FlowLimits limits) {
        if (cuda.isEmpty()) {
            throw new EpUnavailableException(
                    NvshmemProbe.HEADERS + ": kernels that call NVSHMEM need the headers of CUDA;"
                            + " install the CUDA toolkit or set CUDA_HOME");
        }
        DeviceCode.Builder code = DeviceCode.builder(
                        "NVSHMEM " + found.version(), limits(limits) + resource("posted.cu"))
                .header("cuda/std/cstdint", resource("cstdint.h"))
                .option("-I" + found.include());
        cuda.forEach(folder -> code.option("-I" + folder));
        return code.library(found.device()).build();
    }

    /** Macros of {@code posted.cu}; none where nothing is limited, so that kernels are compiled without the counting. */
    private static String limits(FlowLimits limits) {
        return limits.none()
                ? ""
                : "#define EP_INFLIGHT_BYTES " + limits.bytes() + "ull\n#define EP_INFLIGHT_WRITES " + limits.writes()
                        + "ull\n#define EP_INFLIGHT_MESSAGES " + limits.messages() + "ull\n";
    }

    private static String resource(String name) {
        return KernelDialect.text(name, NvshmemOpener.class.getResourceAsStream(name));
    }

    private void initialise(Deadline deadline) {
        Map<String, String> variables = variables();
        int pe = collective.ranks().indexOf(context.rank());
        byte[] id = collective
                .step("id", deadline, () -> {
                    ProcessesPerGpu.check(profiles());
                    return pe == 0 ? process.newId(gpu(), variables) : new byte[0];
                })
                .get(0);
        collective.step("initialisation", deadline, () -> {
            NvshmemProcess.World world = new NvshmemProcess.World(
                    HexFormat.of().formatHex(id), pe, collective.ranks().size());
            process.start(gpu(), variables, id, world, deadline.left());
            return new byte[0];
        });
    }

    private List<RankProfile> profiles() {
        return collective.ranks().stream().map(context.profiles()::get).toList();
    }

    private Map<String, String> variables() {
        List<RankProfile> ranks = profiles();
        boolean near = ranks.stream().allMatch(r -> NvshmemFacts.same(r, ranks.get(0), NvshmemFacts.MACHINE));
        String wanted = NvshmemKeys.TRANSPORT.get(context.config());
        String transport = !wanted.equals("auto") ? wanted : near ? "none" : "ibgda";
        List<EpPath> paths = IntStream.range(0, context.plan().ranks())
                .filter(peer -> collective.connects(context.rank(), peer))
                .mapToObj(peer -> context.plan().path(context.rank(), peer))
                .toList();
        int queuePairs = NvshmemKeys.QUEUE_PAIRS.get(context.config());
        int lanes = queuePairs > 0
                ? queuePairs
                : paths.stream().mapToInt(EpPath::lanes).max().orElse(1);
        List<String> nics = paths.stream()
                .flatMap(path -> path.offeredNics().stream())
                .distinct()
                .toList();
        return NvshmemKeys.variables(context.config(), transport, lanes, nics);
    }

    /** Checks that all ranks are PEs of one world, which may have more. */
    private void checkWorld(List<Optional<NvshmemProcess.World>> worlds) {
        String first = worlds.stream()
                .flatMap(Optional::stream)
                .findFirst()
                .orElseThrow()
                .id();
        for (int i = 0; i < worlds.size(); i++) {
            boolean here =
                    worlds.get(i).filter(world -> world.id().equals(first)).isPresent();
            if (!here) {
                throw new EpStateException(
                        NvshmemProbe.PROCESS + ": "
                                + collective.label(collective.ranks().get(i)) + " did not initialise NVSHMEM together"
                                + " with the other ranks, and a process"
                                + " can initialise NVSHMEM only once;"
                                + " start all processes again, and make"
                                + " the first group contain all ranks",
                        EpException.Recourse.RESTART_PROCESS);
            }
        }
        long different = worlds.stream()
                .flatMap(Optional::stream)
                .map(NvshmemProcess.World::pe)
                .distinct()
                .count();
        if (different != worlds.size()) {
            throw new EpException(
                    NvshmemProbe.PROCESS + ": two ranks have the same PE number; start one process for each GPU");
        }
    }
}
