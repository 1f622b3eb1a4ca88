package org.ep4j.cli.doctor;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.cli.doctor.Probe.Outcome;
import org.ep4j.cli.doctor.Probe.Outcome.NotApplicable;
import org.ep4j.cli.doctor.Probe.Outcome.Unusable;
import org.ep4j.cli.doctor.Probe.Outcome.Usable;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.BackendChoice;
import org.ep4j.spi.Check;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SpiVersion;
import org.ep4j.topology.Locality;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LinuxTopology;

/** Probes every device and backend that is installed. A provider that throws or cannot be loaded becomes a failed check. */
final class Probes {
    private static final Duration DEADLINE = Duration.ofSeconds(20);

    /** Files that exist where a driver of GPUs is loaded. */
    private static final Map<String, List<String>> DRIVERS =
            Map.of("cuda", List.of("/dev/nvidiactl", "/dev/dxg"), "hip", List.of("/dev/kfd"));

    private final Topology machine;
    private final FileTree files;
    private final EpConfig config;
    private final List<Probe> broken = new ArrayList<>();

    private Probes(Topology machine, FileTree files, EpConfig config) {
        this.machine = machine;
        this.files = files;
        this.config = config;
    }

    static List<Probe> of(Topology machine, EpConfig config) {
        Probes probes = new Probes(machine, FileTree.of(Path.of("/")), config);
        return probes.all(
                probes.load(DeviceProvider.class, DeviceProvider::type, DeviceProvider::spiVersion), probes.backends());
    }

    /** Probes the given devices and backends on a machine; {@code files} has what its topology leaves out. */
    static List<Probe> of(
            Topology machine,
            FileTree files,
            EpConfig config,
            List<DeviceProvider> devices,
            List<EpBackendProvider> backends) {
        return new Probes(machine, files, config).all(devices, backends);
    }

    /** Settings of ep4j and of every backend that can be used; of the others, {@link #of} says why. */
    static List<ConfigKey<?>> keys(Topology machine, EpConfig config) {
        List<ConfigKey<?>> all = new ArrayList<>(EpKeys.all());
        new Probes(machine, FileTree.of(Path.of("/")), config)
                .backends()
                .forEach(provider -> all.addAll(provider.configKeys()));
        return all;
    }

    private List<Probe> all(List<DeviceProvider> deviceProviders, List<EpBackendProvider> backendProviders) {
        List<Probe> found = new ArrayList<>();
        List<Device> usable = new ArrayList<>();
        // The order in which services are found depends on the class path.
        List<DeviceProvider> hostFirst = deviceProviders.stream()
                .sorted(Comparator.comparing(
                                (DeviceProvider provider) -> !provider.type().equals(Device.HOST.type()))
                        .thenComparing(DeviceProvider::type))
                .toList();
        for (DeviceProvider provider : hostFirst) {
            boolean asked = wanted(config).filter(provider.type()::equals).isPresent();
            for (Device device : devices(provider.type())) {
                Probe probe = probe("device", provider.type(), device, asked, provider::probe, () -> absent(device));
                found.add(probe);
                // Where memory of the host cannot be used, each backend reports that itself.
                if (probe.usable() || device.equals(Device.HOST)) {
                    usable.add(device);
                }
            }
        }
        for (EpBackendProvider provider : backendProviders) {
            found.addAll(probes(provider, usable));
        }
        found.addAll(broken);
        return folded(needed(found));
    }

    /** Marks the backends that a group over two such machines would use. */
    private List<Probe> needed(List<Probe> found) {
        Set<String> usable = found.stream()
                .filter(probe -> probe.kind().equals("backend") && probe.usable())
                .map(Probe::name)
                .collect(Collectors.toSet());
        Set<String> needed = DoctorPlan.needed(machine, config, usable);
        return found.stream()
                .map(probe -> probe.kind().equals("backend") && needed.contains(probe.name()) ? probe.needed() : probe)
                .toList();
    }

    /** Returns the type of the device that the settings name; empty where they cannot be read, which EP-CFG-001 reports. */
    private static Optional<String> wanted(EpConfig config) {
        try {
            return EpKeys.DEVICE.setting(config).origin() != EpConfig.Origin.DEFAULT
                    ? Optional.of(Device.parse(EpKeys.DEVICE.get(config)).type())
                    : Optional.empty();
        } catch (EpException e) {
            return Optional.empty();
        }
    }

    /** Returns problems of the settings: backends that are not installed, and a device that no backend serves. */
    static List<String> unserved(List<Probe> probes, EpConfig config) {
        List<String> problems = new ArrayList<>();
        BackendChoice choice = BackendChoice.from(config);
        Set<String> installed = probes.stream()
                .filter(probe -> probe.kind().equals("backend"))
                .map(Probe::name)
                .collect(Collectors.toSet());
        Stream.concat(choice.require().stream(), choice.prefer().stream())
                .distinct()
                .filter(id -> !installed.contains(id))
                .forEach(id ->
                        problems.add("the settings ask for backend " + id + ", which is not installed; the installed"
                                + " backends are "
                                + installed.stream().sorted().collect(Collectors.joining(", "))));
        wanted(config)
                .filter(type -> probes.stream()
                        .filter(probe -> probe.kind().equals("backend") && probe.usable())
                        .flatMap(probe -> probe.devices().stream())
                        .noneMatch(device -> device.startsWith(type + ":")))
                .ifPresent(type -> problems.add("the settings ask for device " + type
                        + ", but no backend that the settings allow can be used with this device"));
        return problems;
    }

    private List<Probe> probes(EpBackendProvider provider, List<Device> devices) {
        BackendChoice choice = BackendChoice.from(config);
        Optional<String> refused = choice.refuses(provider.id());
        if (refused.isPresent()) {
            List<String> names = devices.stream().map(Device::toString).toList();
            return List.of(new Probe(
                    "backend", provider.id(), names, new NotApplicable(refused.get()), false, List.of(), Map.of()));
        }
        boolean asked = choice.names(provider.id());
        List<Probe> probes = devices.stream()
                .map(device -> probe(
                        "backend", provider.id(), device, asked, provider::probe, () -> described(provider, device)))
                .toList();
        // Hardware that the settings name and that is missing is a failure, unless another device has it.
        return asked && probes.stream().noneMatch(Probe::usable)
                ? probes.stream().map(Probe::failed).toList()
                : probes;
    }

    /**
     * Returns why there is no such device; empty where the machine has one, with its driver or without, or has a driver for it: in a
     * guest of Windows GPUs are not on PCI.
     */
    private Optional<String> absent(Device device) {
        boolean there = !device.isGpu()
                || Stream.concat(machine.gpus().stream().map(Gpu::vendor), LinuxTopology.gpuVendors(files).stream())
                        .anyMatch(vendor -> vendor.deviceType().equals(device.type()))
                || DRIVERS.getOrDefault(device.type(), List.of()).stream().anyMatch(files::exists);
        return there ? Optional.empty() : Optional.of("no such device was found on this machine");
    }

    /** Returns why a backend is not for this machine, by the description of its hardware; empty where it is, or may be. */
    private Optional<String> described(EpBackendProvider provider, Device device) {
        try {
            int gidIndex = EpKeys.NIC_GID_INDEX.get(config);
            Locality locality = machine.gpus().stream()
                    .filter(gpu -> gpu.host() == 0 && gpu.vendor().deviceType().equals(device.type()))
                    .skip(device.ordinal())
                    .findFirst()
                    .map(gpu -> Localities.of(machine, gpu, gidIndex))
                    .orElseGet(() -> Localities.ofHost(machine, 0, -1, gidIndex));
            RankProfile described =
                    RankProfile.builder(0, "here", device).locality(locality).build();
            return provider.describe(described, config).notApplicable().map(Check::detail);
        } catch (RuntimeException | LinkageError e) {
            return Optional.empty();
        }
    }

    private List<EpBackendProvider> backends() {
        return load(EpBackendProvider.class, EpBackendProvider::id, EpBackendProvider::spiVersion);
    }

    /** Returns the devices of a type that the machine has; the first one where it is not known to have any. */
    private List<Device> devices(String type) {
        long count = machine.gpus().stream()
                .filter(gpu -> gpu.host() == 0 && gpu.vendor().deviceType().equals(type))
                .count();
        return IntStream.range(0, (int) Math.max(1, count))
                .mapToObj(i -> new Device(type, i))
                .toList();
    }

    /** @param other gives why it is not for this machine, where it is unusable */
    private Probe probe(
            String kind,
            String name,
            Device device,
            boolean asked,
            Function<ProbeRequest, ProbeReport> probe,
            Supplier<Optional<String>> other) {
        List<String> devices = List.of(device.toString());
        try {
            ProbeReport report = probe.apply(ProbeRequest.of(device, config, DEADLINE));
            Outcome outcome = report.usable()
                    ? new Usable()
                    : report.notApplicable()
                            .map(Check::detail)
                            .or(other)
                            .filter(reason -> !asked || kind.equals("backend"))
                            .<Outcome>map(NotApplicable::new)
                            .orElseGet(Unusable::new);
            return new Probe(kind, name, devices, outcome, asked, report.checks(), report.facts());
        } catch (RuntimeException | LinkageError e) {
            Check failed = Check.fail(
                    Probe.BROKEN,
                    "the probe of " + kind + " " + name + " ended with " + e,
                    "this is a defect of the " + kind + "; report it");
            return new Probe(kind, name, devices, new Unusable(), true, List.of(failed), Map.of());
        }
    }

    /** Devices with the same outcome share an entry. */
    private static List<Probe> folded(List<Probe> all) {
        record Same(String kind, String name, Outcome outcome, List<String> checks) {}
        Map<Same, Probe> shown = new LinkedHashMap<>();
        for (Probe probe : all) {
            List<String> checks = probe.checks().stream()
                    .map(check -> check.code() + " " + check.status())
                    .toList();
            shown.merge(new Same(probe.kind(), probe.name(), probe.outcome(), checks), probe, Probe::and);
        }
        return List.copyOf(shown.values());
    }

    private <T> List<T> load(Class<T> service, Function<T, String> name, Function<T, SpiVersion> version) {
        List<T> usable = new ArrayList<>();
        Iterator<T> providers =
                ServiceLoader.load(service, EpGroup.class.getClassLoader()).iterator();
        while (true) {
            try {
                if (!providers.hasNext()) {
                    return usable;
                }
                T provider = providers.next();
                if (SpiVersion.CURRENT.runs(version.apply(provider))) {
                    usable.add(provider);
                } else {
                    refuse(
                            service,
                            name.apply(provider),
                            "was built for SPI " + version.apply(provider) + ", but this ep4j has SPI "
                                    + SpiVersion.CURRENT);
                }
            } catch (ServiceConfigurationError | LinkageError e) {
                refuse(service, service.getSimpleName(), "cannot be loaded: " + e.getMessage());
            }
        }
    }

    private void refuse(Class<?> service, String name, String why) {
        String kind = service == DeviceProvider.class ? "device" : "backend";
        Check check = Check.fail(
                Probe.BROKEN,
                name + " " + why,
                "use a version of the " + kind
                        + " that was built for this version of ep4j, or the version of ep4j that the " + kind
                        + " was built for");
        broken.add(new Probe(kind, name, List.of(), new Unusable(), true, List.of(check), Map.of()));
    }
}
