package org.ep4j.cli.doctor;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.ep4j.Device;
import org.ep4j.EpGroup;
import org.ep4j.config.EpConfig;
import org.ep4j.spi.Check;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.Locality;
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

    private List<Probe> all() {
        List<Probe> found = new ArrayList<>();
        List<Device> usable = new ArrayList<>();
        for (DeviceProvider provider : load(DeviceProvider.class, DeviceProvider::type, DeviceProvider::spiVersion)) {
            for (Device device : devices(provider.type())) {
                Probe probe =
                        probe(Probe.DEVICE, provider.type(), device, provider::probe, () -> !isThere(provider.type()));
                found.add(probe);
                if (probe.usable()) {
                    usable.add(device);
                }
            }
        }
        for (EpBackendProvider provider :
                load(EpBackendProvider.class, EpBackendProvider::id, EpBackendProvider::spiVersion)) {
            for (Device device : usable) {
                found.add(probe(
                        Probe.BACKEND,
                        provider.id(),
                        device,
                        provider::probe,
                        () -> provider.describe(description(device)).otherHardware()));
            }
        }
        found.addAll(broken);
        return folded(found);
    }

    /** As many as the machine has of a type; the first where it is not known to have any. */
    private List<Device> devices(String type) {
        List<Device> all = new ArrayList<>();
        for (int i = 0; i < Math.max(1, gpus(type).size()); i++) {
            all.add(new Device(type, i));
        }
        return all;
    }

    private List<Gpu> gpus(String type) {
        return machine.gpus().stream()
                .filter(gpu -> gpu.host() == 0 && gpu.vendor().deviceType().equals(type))
                .toList();
    }

    /** True for a type of devices that a driver could make usable. */
    private boolean isThere(String type) {
        return type.equals(Device.HOST.type()) || !gpus(type).isEmpty();
    }

    /** The machine around a device; a device that the machine is not known to have stands alone. */
    private DescribeRequest description(Device device) {
        List<Gpu> gpus = gpus(device.type());
        Locality locality = device.type().equals(Device.HOST.type())
                ? Locality.ofHost(machine, 0, -1)
                : device.ordinal() < gpus.size() ? Locality.of(machine, gpus.get(device.ordinal())) : Locality.UNKNOWN;
        return new DescribeRequest(device, locality, machine.source());
    }

    /** @param otherHardware whether what cannot be used is for hardware that is not there; asked only then */
    private Probe probe(
            String kind,
            String name,
            Device device,
            Function<ProbeRequest, ProbeReport> asked,
            BooleanSupplier otherHardware) {
        try {
            ProbeReport report = asked.apply(new ProbeRequest(device, config, DEADLINE));
            boolean applicable = report.usable() || !otherHardware.getAsBoolean();
            return new Probe(kind, name, List.of(device.toString()), report.usable(), applicable, report.checks());
        } catch (RuntimeException | LinkageError e) {
            Check failed = Check.fail(
                    Probe.BROKEN, "its probe ended with " + e, "this is a defect of the " + kind + "; report it");
            return new Probe(kind, name, List.of(device.toString()), false, true, List.of(failed));
        }
    }

    /** Devices with the same outcome share an entry. */
    private static List<Probe> folded(List<Probe> all) {
        record Outcome(String kind, String name, boolean usable, boolean applicable, List<String> checks) {}
        Map<Outcome, Probe> shown = new LinkedHashMap<>();
        for (Probe probe : all) {
            List<String> checks = probe.checks().stream()
                    .map(check -> check.code() + " " + check.status())
                    .toList();
            Outcome outcome = new Outcome(probe.kind(), probe.name(), probe.usable(), probe.applicable(), checks);
            shown.merge(outcome, probe, (first, other) -> {
                List<String> devices = new ArrayList<>(first.devices());
                devices.addAll(other.devices());
                return new Probe(
                        first.kind(), first.name(), devices, first.usable(), first.applicable(), first.checks());
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
        String kind = service == DeviceProvider.class ? Probe.DEVICE : Probe.BACKEND;
        Check check = Check.fail(Probe.BROKEN, name + " " + why, "use versions that belong together");
        broken.add(new Probe(kind, name, List.of(), false, true, List.of(check)));
    }
}
