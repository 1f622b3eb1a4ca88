package org.ep4j.engine;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpMismatchException;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.membership.LivenessBootstrap;
import org.ep4j.engine.membership.LivenessLocks;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.plan.ProfileCodec;
import org.ep4j.plan.Settings;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.transport.Failures;
import org.ep4j.transport.memory.EngineDevice;

/** Joins a group on one rank: probes, exchanges profiles, plans, opens backends. */
final class GroupJoiner {
    private static final System.Logger LOG = System.getLogger("org.ep4j");
    private static final Duration PROBE_DEADLINE = Duration.ofSeconds(20);

    /** Folders in which ranks of a host find each other's locks. */
    private static final List<Path> SHARED_FOLDERS =
            List.of(Path.of("/dev/shm"), Path.of(System.getProperty("java.io.tmpdir", "/tmp")));

    /** Variables with the local rank: of torchrun and ./ep run, Open MPI, Slurm, MPICH and Intel MPI. */
    private static final List<String> LOCAL_RANK =
            List.of("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID", "PMI_LOCAL_RANK");

    private Bootstrap bootstrap;
    private final EpConfig config;
    private final Services<EpBackendProvider> backends =
            Services.load(EpBackendProvider.class, EpBackendProvider::id, EpBackendProvider::spiVersion);
    private final Services<DeviceProvider> devices =
            Services.load(DeviceProvider.class, DeviceProvider::type, DeviceProvider::spiVersion);

    /** PCI address of this rank's device, if its driver reports one. */
    private Optional<PciAddress> place = Optional.empty();

    /** Closed again when joining fails, as the fields below. */
    private Optional<EngineDevice> opened = Optional.empty();

    private Optional<LivenessLocks> locked = Optional.empty();
    private final Map<String, EpBackend> open = new TreeMap<>();

    GroupJoiner(Bootstrap bootstrap, EpConfig config) {
        this.bootstrap = bootstrap;
        this.config = config;
    }

    EpGroup join() {
        try {
            return tryJoin();
        } catch (RuntimeException | Error e) {
            List<Runnable> steps = new ArrayList<>(closingBackends());
            opened.ifPresent(device -> steps.add(device::close));
            steps.add(bootstrap::close);
            locked.ifPresent(locks -> steps.add(locks::close));
            closeAfter(e, steps);
            if (e instanceof EpException failure) {
                throw Failures.rejoin(failure, UnaryOperator.identity());
            }
            throw e;
        }
    }

    private EpGroup tryJoin() {
        CollectiveSteps steps = new CollectiveSteps(bootstrap, EpException.Recourse.REJOIN);
        Duration setup = Duration.ofMinutes(1);
        EngineDevice device;
        PlanOptions options;
        try {
            Settings.check(config, keys());
            options = PlanOptions.from(config);
            NicChoice.from(config);
            setup = EpKeys.SETUP_TIMEOUT.get(config);
            device = openDevice();
        } catch (RuntimeException | Error e) {
            steps.refuse("profile", e, setup);
            throw e;
        }
        RankProfile profile = profile(device.id(), options.backends());
        List<RankProfile> profiles = steps.exchange("profile", ProfileCodec.encode(profile), setup).stream()
                .map(ProfileCodec::decode)
                .toList();
        checkSettings(profiles);
        LivenessLocks locks = watch(steps, profile, setup);
        GroupPlan planned = Planner.plan(
                profiles,
                backends.usable().values().stream()
                        .map(b -> new Planner.Candidate(b.id(), b::offer))
                        .toList(),
                options);
        Tuning tuning = Tuning.of(config, planned, bootstrap.rank(), device, config.environment());
        GroupPlan plan = planned.withNotes(tuning.notes());
        LOG.log(System.Logger.Level.DEBUG, () -> "plan of rank " + bootstrap.rank() + ":\n" + plan.explain());
        try {
            openBackends(plan, device, setup);
        } catch (RuntimeException | Error e) {
            closeAfter(e, closingBackends());
            steps.refuse("open", e, setup);
            throw e;
        }
        byte[] mine = cannotMove(plan, locks).getBytes(StandardCharsets.UTF_8);
        String cannotMove = steps.exchange("open", mine, setup).stream()
                .map(reason -> new String(reason, StandardCharsets.UTF_8))
                .filter(reason -> !reason.isEmpty())
                .findFirst()
                .orElse("");
        locks.removeName();
        return new Group(bootstrap, config, tuning, plan, device, new OpenBackends(open), locks, cannotMove);
    }

    /** Returns why buffers cannot move into fresh memory, as far as this rank knows; empty if they can. */
    private String cannotMove(GroupPlan plan, LivenessLocks locks) {
        String me = plan.profiles().get(bootstrap.rank()).label();
        Optional<String> fixed = open.values().stream()
                .filter(backend -> backend.as(RecoverableBackend.class).isEmpty())
                .map(backend ->
                        me + " uses " + backend.id() + ", which cannot allocate memory for only some of the ranks")
                .findFirst();
        if (fixed.isPresent()) {
            return fixed.get();
        }
        long onHost = plan.profiles().stream()
                .filter(profile -> !profile.device().isGpu())
                .count();
        if (onHost == plan.ranks()) {
            return "";
        }
        if (onHost > 0) {
            return "some ranks use GPUs and others the host";
        }
        // GPUs agree through memory in the files of locks, which others map or post to.
        return locks.reaches(new UsablePaths(plan, bootstrap.rank()).mapped())
                ? ""
                : me + " maps memory of GPUs on other hosts, or shares no lock file (in ep.shm.dir, /dev/shm or"
                        + " java.io.tmpdir) with the other ranks of its host";
    }

    /** Creates the locks by which ranks detect dead peers of their host. */
    private LivenessLocks watch(CollectiveSteps steps, RankProfile mine, Duration setup) {
        // Containers may share only the folder of a backend.
        List<Path> folders = new ArrayList<>();
        mine.backends()
                .values()
                .forEach(backend -> Optional.ofNullable(backend.facts().get(ProbeReport.FOLDER))
                        .map(Path::of)
                        .ifPresent(folders::add));
        folders.addAll(SHARED_FOLDERS);
        LivenessLocks own = LivenessLocks.create(mine.hostId(), folders, bootstrap.provesLosses());
        locked = Optional.of(own);
        own.open(bootstrap.rank(), steps.exchange("liveness", own.announcement(), setup));
        bootstrap = LivenessBootstrap.of(bootstrap, own);
        return own;
    }

    /** Takes the open backends out of this joiner, and returns what closes them. */
    private List<Runnable> closingBackends() {
        List<Runnable> steps =
                open.values().stream().<Runnable>map(backend -> backend::close).toList();
        open.clear();
        return steps;
    }

    /** Runs all steps, also if one fails: the failure before them is the one to report. */
    private static void closeAfter(Throwable failure, List<Runnable> steps) {
        try {
            Group.closeAll(steps);
        } catch (RuntimeException | Error e) {
            if (e != failure) {
                failure.addSuppressed(e);
            }
        }
    }

    private EngineDevice openDevice() {
        String text = EpKeys.DEVICE.get(config);
        String type = Device.parse(text).type();
        DeviceProvider provider = devices.usable().get(type);
        if (provider == null) {
            List<String> broken = devices.broken();
            throw new EpUnavailableException("no provider of device type " + type + "; available: "
                    + devices.usable().keySet()
                    + (broken.isEmpty() ? "" : " (could not load: " + String.join("; ", broken) + ")")
                    + "; add the artifact that contains this provider, or set " + EpKeys.DEVICE.name()
                    + " to another device");
        }
        Device wanted = device(text, System.getenv(), provider.count());
        ProbeReport report = provider.probe(ProbeRequest.of(wanted, config, PROBE_DEADLINE));
        if (!report.usable()) {
            throw new EpUnavailableException(wanted + " cannot be used: "
                    + report.failures().stream().map(Object::toString).collect(Collectors.joining("; ")));
        }
        place = Optional.ofNullable(report.facts().get("bus")).flatMap(PciAddress::parse);
        EngineDevice device = EngineDevice.of(provider.open(wanted));
        opened = Optional.of(device);
        return device;
    }

    private RankProfile profile(Device device, BackendChoice choice) {
        ProbeRequest request = ProbeRequest.of(device, config, PROBE_DEADLINE);
        Map<String, BackendProfile> found = new TreeMap<>();
        // A probe takes time and loads libraries, so backends that the plan may not use are not probed.
        backends.usable()
                .forEach((id, provider) -> found.put(
                        id,
                        choice.refuses(id)
                                .map(why -> BackendProfile.unusable("not probed: " + why))
                                .orElseGet(() -> probe(provider, request))));
        DeviceLocality around = DeviceLocality.of(device, place, EpKeys.NIC_GID_INDEX.get(config));
        int ranks = EpKeys.HOST_RANKS.get(config);
        String madeUp = ranks == 0 ? "" : "/" + bootstrap.rank() / ranks;
        return RankProfile.builder(bootstrap.rank(), hostId() + madeUp, device)
                .hostName(hostName() + madeUp)
                .pid(ProcessHandle.current().pid())
                .locality(around.locality())
                .domain(around.domain())
                .backends(found)
                .settings(Settings.ofRank(config, keys()))
                .build();
    }

    private List<ConfigKey<?>> keys() {
        List<ConfigKey<?>> keys = new ArrayList<>(EpKeys.all());
        backends.usable().values().forEach(backend -> keys.addAll(backend.configKeys()));
        return keys;
    }

    private static BackendProfile probe(EpBackendProvider provider, ProbeRequest request) {
        try {
            return BackendProfile.of(provider.probe(request));
        } catch (RuntimeException | LinkageError e) {
            return BackendProfile.unusable("its probe failed because the backend has a defect: " + e);
        }
    }

    /** Ranks share a host when they share a running kernel: its boot id; the name alone can be the same on two machines. */
    private static String hostId() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/random/boot_id"), StandardCharsets.US_ASCII)
                    .trim();
        } catch (IOException e) {
            return hostName();
        }
    }

    private static String hostName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }

    private static void checkSettings(List<RankProfile> profiles) {
        RankProfile first = profiles.get(0);
        List<String> differences = new ArrayList<>();
        for (RankProfile other : profiles) {
            Set<String> keys = new TreeSet<>(first.settings().keySet());
            keys.addAll(other.settings().keySet());
            keys.removeIf(Settings::isOwn);
            for (String key : keys) {
                String a = first.settings().getOrDefault(key, "absent");
                String b = other.settings().getOrDefault(key, "absent");
                if (!a.equals(b)) {
                    differences.add(
                            key + " is \"" + a + "\" on " + first.label() + " and \"" + b + "\" on " + other.label());
                }
            }
        }
        if (!differences.isEmpty()) {
            throw new EpMismatchException(String.join("; ", differences) + "; set the same value on all ranks");
        }
    }

    private void openBackends(GroupPlan plan, EpDevice device, Duration setup) {
        int rank = bootstrap.rank();
        for (String id : plan.backends()) {
            List<Integer> ranks = plan.ranksUsing(id);
            if (!ranks.contains(rank)) {
                continue;
            }
            EpBackendProvider provider = backends.usable().get(id);
            if (provider == null) {
                throw new EpException("the plan names backend " + id + ", which this rank does not have");
            }
            Bootstrap members = bootstrap.subgroup("backend-" + id, ranks);
            open.put(
                    id,
                    provider.open(OpenContext.builder(plan, plan.profiles(), members, device)
                            .ranks(ranks)
                            .config(config)
                            .timeout(setup)
                            .build()));
        }
        OpenBackends.check(open.values());
    }

    /**
     * Returns the device of this rank for a setting. A type with a number is that device. For a type alone the number is the local rank
     * modulo the number of visible devices (which is 1 if the launcher assigns each rank its own by CUDA_VISIBLE_DEVICES). Without a
     * launcher it is 0.
     *
     * @param setting {@code cuda} or {@code cuda:3}
     * @param environment of the process
     * @param count number of visible devices of the type; 0 if unknown
     * @throws org.ep4j.EpArgumentException when the setting is neither
     */
    static Device device(String setting, Map<String, String> environment, int count) {
        Device parsed = Device.parse(setting);
        if (setting.contains(":") || count < 1) {
            return parsed;
        }
        return new Device(parsed.type(), localRank(environment).orElse(0) % count);
    }

    private static Optional<Integer> localRank(Map<String, String> environment) {
        return LOCAL_RANK.stream()
                .map(name -> environment.getOrDefault(name, "").strip())
                .filter(text -> text.matches("\\d{1,6}"))
                .map(Integer::parseInt)
                .findFirst();
    }
}
