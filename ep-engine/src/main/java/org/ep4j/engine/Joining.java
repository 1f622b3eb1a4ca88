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
import org.ep4j.engine.membership.LivenessLocks;
import org.ep4j.engine.membership.WatchedMembers;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.plan.ProfileCodec;
import org.ep4j.plan.RankSettings;
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

/** One rank's way into a group: probe, exchange profiles, plan, open. */
final class Joining {
    private static final System.Logger LOG = System.getLogger("org.ep4j");
    private static final Duration PROBE_DEADLINE = Duration.ofSeconds(20);

    /** Where ranks of a host find each other's locks. */
    private static final List<Path> SHARED_FOLDERS =
            List.of(Path.of("/dev/shm"), Path.of(System.getProperty("java.io.tmpdir", "/tmp")));

    /** Number of the rank on its host, of torchrun and ep, Open MPI, Slurm, MPICH and Intel MPI. */
    private static final List<String> LOCAL_RANK =
            List.of("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID", "PMI_LOCAL_RANK");

    private Bootstrap bootstrap;
    private final EpConfig config;
    private final Services<EpBackendProvider> backends =
            Services.load(EpBackendProvider.class, EpBackendProvider::id, EpBackendProvider::spiVersion);
    private final Services<DeviceProvider> devices =
            Services.load(DeviceProvider.class, DeviceProvider::type, DeviceProvider::spiVersion);

    /** PCI address of this rank's device, when it has one and told it. */
    private Optional<PciAddress> place = Optional.empty();

    /** What is closed again when joining fails. */
    private Optional<EngineDevice> opened = Optional.empty();

    private Optional<LivenessLocks> locked = Optional.empty();

    Joining(Bootstrap bootstrap, EpConfig config) {
        this.bootstrap = bootstrap;
        this.config = config;
    }

    EpGroup join() {
        try {
            return tryJoin();
        } catch (RuntimeException | Error e) {
            opened.ifPresent(EngineDevice::close);
            bootstrap.close();
            locked.ifPresent(LivenessLocks::close);
            if (e instanceof EpException failure) {
                throw Failures.rejoin(failure, UnaryOperator.identity());
            }
            throw e;
        }
    }

    private EpGroup tryJoin() {
        Agreement agreement = new Agreement(bootstrap, EpException.Recourse.REJOIN);
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
            agreement.refuse("profile", e, setup);
            throw e;
        }
        RankProfile profile = profile(device.id(), options.backends());
        List<RankProfile> profiles = agreement.exchange("profile", ProfileCodec.encode(profile), setup).stream()
                .map(ProfileCodec::decode)
                .toList();
        checkSettings(profiles);
        LivenessLocks locks = watch(agreement, profile, setup);
        GroupPlan plan = Planner.plan(
                profiles,
                backends.usable().values().stream()
                        .map(b -> new Planner.Candidate(b.id(), b::offer))
                        .toList(),
                options);
        LOG.log(System.Logger.Level.DEBUG, () -> "plan of rank " + bootstrap.rank() + ":\n" + plan.explain());
        Map<String, EpBackend> open = new TreeMap<>();
        try {
            openBackends(plan, device, setup, open);
        } catch (RuntimeException | Error e) {
            closeAll(open);
            agreement.refuse("open", e, setup);
            throw e;
        }
        byte[] mine = cannotMove(plan, locks, open).getBytes(StandardCharsets.UTF_8);
        String cannotMove;
        try {
            cannotMove = agreement.exchange("open", mine, setup).stream()
                    .map(reason -> new String(reason, StandardCharsets.UTF_8))
                    .filter(reason -> !reason.isEmpty())
                    .findFirst()
                    .orElse("");
            locks.removeName();
        } catch (RuntimeException | Error e) {
            closeAll(open);
            throw e;
        }
        return new Group(bootstrap, config, plan, device, new OpenBackends(open), locks, cannotMove);
    }

    /** Why buffers cannot move into fresh memory, as far as this rank knows; empty if they can. */
    private String cannotMove(GroupPlan plan, LivenessLocks locks, Map<String, EpBackend> open) {
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

    /** From here on a rank finds dead peers of its host by itself. */
    private LivenessLocks watch(Agreement agreement, RankProfile mine, Duration setup) {
        // Containers may share the folder of a backend and no other one.
        List<Path> folders = new ArrayList<>();
        mine.backends()
                .values()
                .forEach(backend -> Optional.ofNullable(backend.facts().get(ProbeReport.FOLDER))
                        .map(Path::of)
                        .ifPresent(folders::add));
        folders.addAll(SHARED_FOLDERS);
        LivenessLocks own = LivenessLocks.create(mine.hostId(), folders, bootstrap.provesLosses());
        locked = Optional.of(own);
        own.open(bootstrap.rank(), agreement.exchange("liveness", own.announcement(), setup));
        bootstrap = WatchedMembers.of(bootstrap, own);
        return own;
    }

    private static void closeAll(Map<String, EpBackend> open) {
        open.values().forEach(EpBackend::close);
    }

    private EngineDevice openDevice() {
        String text = EpKeys.DEVICE.get(config);
        String type = Device.parse(text).type();
        DeviceProvider provider = devices.usable().get(type);
        if (provider == null) {
            throw new EpUnavailableException("no provider of device type " + type + "; available: "
                    + devices.usable().keySet() + brokenText(devices.broken())
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

    private static String brokenText(List<String> broken) {
        return broken.isEmpty() ? "" : " (could not load: " + String.join("; ", broken) + ")";
    }

    private RankProfile profile(Device device, BackendChoice choice) {
        ProbeRequest request = ProbeRequest.of(device, config, PROBE_DEADLINE);
        Map<String, BackendProfile> found = new TreeMap<>();
        // A probe takes time, and loads libraries: not for what the plan may not use.
        backends.usable()
                .forEach((id, provider) -> found.put(
                        id,
                        choice.refuses(id)
                                .map(why -> BackendProfile.unusable("not probed: " + why))
                                .orElseGet(() -> probe(provider, request))));
        Surroundings around = Surroundings.of(device, place, EpKeys.NIC_GID_INDEX.get(config));
        int ranks = EpKeys.HOST_RANKS.get(config);
        String madeUp = ranks == 0 ? "" : "/" + bootstrap.rank() / ranks;
        return RankProfile.builder(bootstrap.rank(), hostId() + madeUp, device)
                .hostName(hostName() + madeUp)
                .pid(ProcessHandle.current().pid())
                .locality(around.locality())
                .domain(around.domain())
                .backends(found)
                .settings(RankSettings.of(config, keys()))
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
            for (String key : agreed(first.settings(), other.settings())) {
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

    private static List<String> agreed(Map<String, String> a, Map<String, String> b) {
        var keys = new TreeSet<>(a.keySet());
        keys.addAll(b.keySet());
        keys.removeIf(RankSettings::isOwn);
        return List.copyOf(keys);
    }

    private void openBackends(GroupPlan plan, EpDevice device, Duration setup, Map<String, EpBackend> open) {
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
     * Which device a setting means for this rank. A type with a number is that device. A type alone is the rank's share of the
     * host's devices: the launcher's number of the rank on its host, counted round where ranks outnumber the devices that the
     * process sees (they are one when the launcher gives each rank its own by CUDA_VISIBLE_DEVICES). Without a launcher it is
     * the first.
     *
     * @param setting {@code cuda} or {@code cuda:3}
     * @param environment of the process
     * @param count devices of the type that the process sees; 0 when that is not known
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
