package org.ep4j.cli.doctor;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.function.Function;
import org.ep4j.Device;
import org.ep4j.EpGroup;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Check;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;
import org.ep4j.topology.Topology;

/** Asks every device and backend that is installed. What throws or cannot be loaded becomes a failed check. */
final class Probes {
    private static final Duration DEADLINE = Duration.ofSeconds(20);

    private final Topology machine;
    private final EpConfig config;
    private final List<Probe> broken = new ArrayList<>();

    private Probes(Topology machine, EpConfig config) {
        this.machine = machine;
        this.config = config;
    }

    static List<Probe> of(Topology machine, EpConfig config) {
        return new Probes(machine, config).all();
    }

    /** Settings of ep4j and of every backend that can be used; of the others, {@link #of} says why. */
    static List<ConfigKey<?>> keys(Topology machine, EpConfig config) {
        List<ConfigKey<?>> all = new ArrayList<>(EpKeys.all());
        new Probes(machine, config).backends().forEach(provider -> all.addAll(provider.configKeys()));
        return all;
    }

    private List<Probe> all() {
        List<Probe> found = new ArrayList<>();
        List<Device> usable = new ArrayList<>();
        for (DeviceProvider provider : load(DeviceProvider.class, DeviceProvider::type, DeviceProvider::spiVersion)) {
            for (Device device : devices(provider.type())) {
                Probe probe = probe("device", provider.type(), device, provider::probe);
                found.add(probe);
                if (probe.usable()) {
                    usable.add(device);
                }
            }
        }
        for (EpBackendProvider provider : backends()) {
            for (Device device : usable) {
                found.add(probe("backend", provider.id(), device, provider::probe));
            }
        }
        found.addAll(broken);
        return folded(found);
    }

    private List<EpBackendProvider> backends() {
        return load(EpBackendProvider.class, EpBackendProvider::id, EpBackendProvider::spiVersion);
    }

    /** As many as the machine has of a type; the first where it is not known to have any. */
    private List<Device> devices(String type) {
        long count = machine.gpus().stream()
                .filter(gpu -> gpu.host() == 0 && gpu.vendor().deviceType().equals(type))
                .count();
        List<Device> all = new ArrayList<>();
        for (int i = 0; i < Math.max(1, count); i++) {
            all.add(new Device(type, i));
        }
        return all;
    }

    private Probe probe(String kind, String name, Device device, Function<ProbeRequest, ProbeReport> asked) {
        try {
            ProbeReport report = asked.apply(new ProbeRequest(device, config, DEADLINE));
            return new Probe(kind, name, List.of(device.toString()), report.usable(), report.checks());
        } catch (RuntimeException | LinkageError e) {
            Check failed = Check.fail(
                    Probe.BROKEN, "its probe ended with " + e, "this is a defect of the " + kind + "; report it");
            return new Probe(kind, name, List.of(device.toString()), false, List.of(failed));
        }
    }

    /** Devices with the same outcome share an entry. */
    private static List<Probe> folded(List<Probe> all) {
        record Outcome(String kind, String name, boolean usable, List<String> checks) {}
        Map<Outcome, Probe> shown = new LinkedHashMap<>();
        for (Probe probe : all) {
            List<String> checks = probe.checks().stream()
                    .map(check -> check.code() + " " + check.status())
                    .toList();
            shown.merge(new Outcome(probe.kind(), probe.name(), probe.usable(), checks), probe, (first, other) -> {
                List<String> devices = new ArrayList<>(first.devices());
                devices.addAll(other.devices());
                return new Probe(first.kind(), first.name(), devices, first.usable(), first.checks());
            });
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
                            "was built for SPI " + version.apply(provider) + ", this ep4j has " + SpiVersion.CURRENT);
                }
            } catch (ServiceConfigurationError | LinkageError e) {
                refuse(service, service.getSimpleName(), "cannot be loaded: " + e.getMessage());
            }
        }
    }

    private void refuse(Class<?> service, String name, String why) {
        String kind = service == DeviceProvider.class ? "device" : "backend";
        Check check = Check.fail(Probe.BROKEN, name + " " + why, "use versions that belong together");
        broken.add(new Probe(kind, name, List.of(), false, List.of(check)));
    }
}
