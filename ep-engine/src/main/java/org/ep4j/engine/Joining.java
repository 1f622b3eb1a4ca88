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
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpMismatchException;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.life.LifeLocks;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.RankProfile.BackendProfile;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.topology.PciAddress;

/** One rank's way into a group: probe, exchange profiles, plan, open. */
final class Joining {
    private static final System.Logger LOG = System.getLogger("org.ep4j");
    private static final Duration PROBE_DEADLINE = Duration.ofSeconds(20);

    /** Containers that share memory share the first one. */
    private static final List<Path> LIFE_FOLDERS =
            List.of(Path.of("/dev/shm"), Path.of(System.getProperty("java.io.tmpdir", "/tmp")));

    private final Bootstrap bootstrap;
    private final EpConfig config;
    private final Services<EpBackendProvider> backends;
    private final Services<DeviceProvider> devices;

    /** PCI address of this rank's device, when it has one and told it. */
    private Optional<PciAddress> place = Optional.empty();

    /** What is closed again when joining fails. */
    private Optional<EpDevice> opened = Optional.empty();

    private Optional<LifeLocks> life = Optional.empty();

    Joining(Bootstrap bootstrap, EpConfig config) {
        this(
                bootstrap,
                config,
                Services.load(EpBackendProvider.class, EpBackendProvider::id, EpBackendProvider::spiVersion),
                Services.load(DeviceProvider.class, DeviceProvider::type, DeviceProvider::spiVersion));
    }

    /** With backends and devices that are there already. */
    Joining(
            Bootstrap bootstrap,
            EpConfig config,
            Services<EpBackendProvider> backends,
            Services<DeviceProvider> devices) {
        this.bootstrap = bootstrap;
        this.config = config;
        this.backends = backends;
        this.devices = devices;
    }

    EpGroup join() {
        Map<String, EpBackend> open = new TreeMap<>();
        try {
            return tryJoin(open);
        } catch (RuntimeException | Error e) {
            List<Runnable> steps = new ArrayList<>();
            open.values().forEach(backend -> steps.add(backend::close));
            opened.ifPresent(device -> steps.add(device::close));
            steps.add(bootstrap::close);
            life.ifPresent(locks -> steps.add(locks::close));
            Group.closeAfter(e, steps);
            throw e;
        }
    }

    private EpGroup tryJoin(Map<String, EpBackend> open) {
        Agreement agreement = new Agreement(bootstrap);
        Duration known = Duration.ofMinutes(1);
        EpDevice device;
        PlanOptions options;
        byte[] mine;
        try {
            List<ConfigKey<?>> keys = new ArrayList<>(EpKeys.all());
            backends.usable().values().forEach(b -> keys.addAll(b.configKeys()));
            config.check(keys);
            options = PlanOptions.from(config);
            NicChoice.from(config);
            known = config.get(EpKeys.SETUP_TIMEOUT);
            device = openDevice();
            mine = profile(device.id(), options.backends()).encode();
        } catch (RuntimeException | Error e) {
            agreement.refuse("profile", e, known);
            throw e;
        }
        Duration setup = known;
        List<byte[]> all = agreement.exchange("profile", mine, setup);
        EpPlan plan = agreement.step("plan", setup, () -> plan(all, options));
        LifeLocks locks = LifeLocks.create(hostId(), LIFE_FOLDERS);
        life = Optional.of(locks);
        locks.open(bootstrap.rank(), agreement.exchange("life", locks.announcement(), setup));
        LOG.log(System.Logger.Level.DEBUG, () -> "plan of rank " + bootstrap.rank() + ":\n" + plan.explain());
        // One backend after the other, on all ranks: where one cannot, no rank waits in the next one for it.
        for (String id : plan.backends()) {
            agreement.step("open-" + id, setup, () -> openBackend(id, plan, device, setup, open));
        }
        return agreement.step("open", setup, () -> {
            checkAllocators(open);
            // All ranks have opened it.
            locks.removeName();
            return new Group(bootstrap, config, plan, device, new OpenBackends(open), locks);
        });
    }

    private EpPlan plan(List<byte[]> all, PlanOptions options) {
        List<RankProfile> profiles = all.stream().map(RankProfile::decode).toList();
        checkSettings(profiles);
        return Planner.plan(
                profiles,
                backends.usable().values().stream()
                        .map(b -> new Planner.Candidate(b.id(), b::offer))
                        .toList(),
                options);
    }

    private EpDevice openDevice() {
        String text = config.get(EpKeys.DEVICE);
        String type = Device.parse(text).type();
        DeviceProvider provider = devices.usable().get(type);
        if (provider == null) {
            throw new EpUnavailableException("no provider of device type " + type + "; there is "
                    + devices.usable().keySet() + brokenText(devices.broken())
                    + "; add the artifact that brings it, or set " + EpKeys.DEVICE.name() + " to another device");
        }
        Device wanted = RankDevice.of(text, System.getenv(), provider.count());
        ProbeReport report = provider.probe(new ProbeRequest(wanted, config, PROBE_DEADLINE));
        if (!report.usable()) {
            throw new EpUnavailableException(wanted + " cannot be used: "
                    + report.failures().stream().map(Object::toString).collect(Collectors.joining("; ")));
        }
        place = Optional.ofNullable(report.facts().get("bus")).flatMap(PciAddress::parse);
        EpDevice device = provider.open(wanted);
        opened = Optional.of(device);
        return device;
    }

    private static String brokenText(List<String> broken) {
        return broken.isEmpty() ? "" : " (could not load: " + String.join("; ", broken) + ")";
    }

    private RankProfile profile(Device device, BackendChoice choice) {
        ProbeRequest request = new ProbeRequest(device, config, PROBE_DEADLINE);
        Map<String, BackendProfile> found = new TreeMap<>();
        Surroundings around = Surroundings.of(device, place);
        DescribeRequest described = new DescribeRequest(device, around.locality(), hostId());
        // A probe takes time, and loads libraries: not for what the plan may not use.
        backends.usable()
                .forEach((id, provider) -> found.put(
                        id,
                        choice.refuses(id)
                                .map(why -> new BackendProfile(false, "not probed: " + why, Map.of()))
                                .orElseGet(() -> probe(provider, request, described))));
        Map<String, String> settings = new TreeMap<>();
        List<ConfigKey<?>> keys = new ArrayList<>(EpKeys.all());
        backends.usable().values().forEach(b -> keys.addAll(b.configKeys()));
        keys.stream()
                .filter(key -> key.agreed() || NicChoice.KEYS.contains(key))
                .forEach(key -> settings.put(key.name(), config.resolve(key).text()));
        int ranks = config.get(EpKeys.HOST_RANKS);
        String madeUp = ranks == 0 ? "" : "/" + bootstrap.rank() / ranks;
        return new RankProfile(
                bootstrap.rank(),
                hostId() + madeUp,
                hostName() + madeUp,
                ProcessHandle.current().pid(),
                device,
                around.locality(),
                around.domain(),
                found,
                settings);
    }

    private static BackendProfile probe(EpBackendProvider provider, ProbeRequest request, DescribeRequest described) {
        try {
            ProbeReport report = provider.probe(request);
            String why = report.failures().stream().map(Object::toString).collect(Collectors.joining("; "));
            return report.usable()
                    ? new BackendProfile(true, why, report.facts(), report.identity())
                    : BackendProfile.unusable(why, provider.describe(described).otherHardware());
        } catch (RuntimeException | LinkageError e) {
            return new BackendProfile(false, "its probe failed, which is a defect of the backend: " + e, Map.of());
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
        NicChoice.KEYS.forEach(key -> keys.remove(key.name()));
        return List.copyOf(keys);
    }

    private Map<String, EpBackend> openBackend(
            String id, EpPlan plan, EpDevice device, Duration setup, Map<String, EpBackend> open) {
        int rank = bootstrap.rank();
        List<Integer> ranks = plan.ranksUsing(id);
        if (ranks.contains(rank)) {
            EpBackendProvider provider = backends.usable().get(id);
            if (provider == null) {
                throw new EpException("the plan names backend " + id + ", which this rank does not have");
            }
            Bootstrap members = bootstrap.subgroup("backend-" + id, ranks);
            open.put(id, provider.open(new OpenContext(plan, rank, ranks, members, device, config, setup)));
        }
        return open;
    }

    private static void checkAllocators(Map<String, EpBackend> open) {
        List<String> allocators = open.values().stream()
                .filter(EpBackend::allocates)
                .map(EpBackend::id)
                .sorted()
                .toList();
        if (allocators.size() > 1) {
            throw new EpUnavailableException("backends " + String.join(" and ", allocators)
                    + " both want to allocate the symmetric memory; leave one out with " + EpKeys.EXCLUDE.name());
        }
    }
}
