package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.cuda.CudaNicMemory;
import org.ep4j.gpu.driver.NicMemory.GpuDirect;
import org.ep4j.gpu.driver.NicMemory.Registrable;
import org.ep4j.gpu.hip.HipNicMemory;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.plan.offer.NicPath;
import org.ep4j.plan.offer.NicPaths;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Topology;
import org.ep4j.transport.memory.JniLibrary;
import org.ep4j.transport.posted.PostedChecks;

/**
 * Looks whether this rank can use reliable connections. It opens and closes devices, and makes a protection domain on
 * them, nothing else. The codes:
 *
 * <ul>
 *   <li>{@code EP-IBR-001} the device is the host or a GPU from which this backend can send
 *   <li>{@code EP-IBR-002} libibverbs is installed and can be called
 *   <li>{@code EP-IBR-003} libibverbs lists devices, and this process may open them
 *   <li>{@code EP-IBR-004} a NIC with reliable connections has a port that is up
 *   <li>{@code EP-IBR-005} the NICs can register the memory of the device, and how
 *   <li>{@code EP-IBR-006} the ports have a GID to send from
 *   <li>{@code EP-IBR-007} the NICs support atomic operations, if {@code ep.ibrc.counters=atomic}
 *   <li>{@code EP-IBR-008} the limit on locked memory is high enough
 *   <li>{@code EP-IBR-009} a dead port is detected before calls time out
 * </ul>
 */
final class IbrcProbe {
    static final String DEVICE = "EP-IBR-001";
    static final String LIBRARY = "EP-IBR-002";
    static final String DEVICES = "EP-IBR-003";
    static final String NIC = "EP-IBR-004";
    static final String DIRECT = "EP-IBR-005";
    static final String GID = "EP-IBR-006";
    static final String ATOMICS = "EP-IBR-007";
    static final String MEMORY = "EP-IBR-008";
    static final String RETRIES = "EP-IBR-009";

    private static final String LOADED = "libibverbs.so.1 is loaded";

    private final ProbeReport.Builder report = ProbeReport.builder();

    /**
     * A device of libibverbs, after an attempt to open it.
     *
     * @param problem why it cannot be used; empty where it can
     * @param atomics whether it supports remote atomic additions
     * @param dmabuf whether it registers dma-bufs, which hand over memory of GPUs
     */
    private record OpenedDevice(String name, Optional<String> problem, boolean atomics, boolean dmabuf) {
        static OpenedDevice of(String name) {
            try (NicDevice device = NicDevice.open(name, FlowLimits.NONE)) {
                // iWARP connects by its own connection manager alone, and has neither immediates nor atomics.
                Optional<String> problem = device.iwarp() ? Optional.of("speaks iWARP") : Optional.empty();
                return new OpenedDevice(name, problem, device.atomics(), device.dmabuf());
            } catch (EpException e) {
                return new OpenedDevice(name, Optional.of(String.valueOf(e.getMessage())), false, false);
            }
        }
    }

    private IbrcProbe() {}

    static ProbeReport probe(ProbeRequest request) {
        IbrcProbe probe = new IbrcProbe();
        try {
            probe.run(request.device(), request.config());
        } catch (EpException e) {
            probe.report.check(
                    Check.fail(DEVICES, String.valueOf(e.getMessage()), "see ibv_devinfo and the kernel's log"));
        }
        return probe.report.build();
    }

    private void run(Device device, EpConfig config) {
        Check kind = PostedChecks.device(DEVICE, device);
        report.check(kind);
        if (kind.status() != Check.Status.PASS) {
            PostedChecks.notRun(report, LIBRARY, DEVICES, NIC, DIRECT, GID, ATOMICS, MEMORY, RETRIES);
            return;
        }
        try {
            VerbsLibrary.JNI.load();
        } catch (JniLibrary.Missing e) {
            if (absent(config)) {
                return;
            }
            report.check(Check.fail(LIBRARY, String.valueOf(e.getMessage()), e.remedy()));
            PostedChecks.notRun(report, DEVICES, NIC, DIRECT, GID, ATOMICS);
            report.check(PostedChecks.lockedMemory(MEMORY));
            PostedChecks.notRun(report, RETRIES);
            return;
        }
        List<String> names = VerbsLibrary.devices();
        if (names.isEmpty()) {
            if (absent(config)) {
                return;
            }
            report.check(Check.pass(LIBRARY, LOADED));
            report.check(Check.fail(
                    DEVICES,
                    "libibverbs sees no device",
                    "install the driver of the NIC and its provider (apt-get install ibverbs-providers), and give"
                            + " containers /dev/infiniband (docker run --device=/dev/infiniband)"));
            PostedChecks.notRun(report, NIC, DIRECT, GID, ATOMICS);
            report.check(PostedChecks.lockedMemory(MEMORY));
            PostedChecks.notRun(report, RETRIES);
            return;
        }
        report.check(Check.pass(LIBRARY, LOADED));
        List<OpenedDevice> found = names.stream().map(OpenedDevice::of).toList();
        List<OpenedDevice> usable =
                found.stream().filter(one -> one.problem().isEmpty()).toList();
        report.check(devices(found, usable));
        List<NicPath> ports = lookAtPorts(device, config, usable);
        report.check(PostedChecks.lockedMemory(MEMORY));
        if (ports.isEmpty()) {
            PostedChecks.notRun(report, RETRIES);
        } else {
            report.check(Retries.check(ports, config));
        }
    }

    /** Adds the checks of a machine that has no NIC with RDMA, and returns true there. */
    private boolean absent(EpConfig config) {
        Locality machine = Localities.ofHost(Ports.topology(), 0, -1, EpKeys.NIC_GID_INDEX.get(config));
        Check nic = IbrcOffer.noNic(machine);
        if (nic.status() != Check.Status.NOT_APPLICABLE) {
            return false;
        }
        report.check(nic);
        for (String code : List.of(LIBRARY, DEVICES, DIRECT, GID, ATOMICS, MEMORY, RETRIES)) {
            report.check(Check.notRun(code, "there is no NIC with RDMA"));
        }
        return true;
    }

    private static Check devices(List<OpenedDevice> found, List<OpenedDevice> usable) {
        String all = found.stream()
                .map(one -> one.name() + one.problem().map(text -> ": " + text).orElse(""))
                .collect(Collectors.joining(", "));
        if (usable.isEmpty()) {
            return Check.fail(
                    DEVICES,
                    "no device can be used: " + all,
                    "run as a user who may open /dev/infiniband/uverbs*, with a NIC that supports InfiniBand or RoCE");
        }
        return Check.pass(DEVICES, all);
    }

    private List<NicPath> lookAtPorts(Device device, EpConfig config, List<OpenedDevice> usable) {
        Topology topology = Ports.topology();
        Locality all = Localities.ofHost(topology, 0, -1, EpKeys.NIC_GID_INDEX.get(config));
        NicChoice choice = NicChoice.from(config);
        Predicate<NicReach> opened =
                nic -> usable.stream().anyMatch(one -> one.name().equals(nic.name()));
        Locality allowed = choice.narrow(all, device);
        Optional<NicPaths> nics = IbrcOffer.nics(device, allowed, opened);
        List<String> silent = withoutGid(allowed, opened);
        if (nics.isEmpty() && !silent.isEmpty()) {
            report.check(Check.pass(NIC, String.join(", ", silent) + (silent.size() == 1 ? " is up" : " are up")));
            PostedChecks.notRun(report, DIRECT);
            report.check(PortGids.of(topology.nics(), silent, EpKeys.NIC_GID_INDEX.get(config))
                    .check());
            PostedChecks.notRun(report, ATOMICS);
            return List.of();
        }
        if (nics.isEmpty()) {
            report.check(IbrcOffer.nics(device, all, opened)
                    .map(some -> IbrcOffer.forbidden(some, choice))
                    .orElseGet(() -> IbrcOffer.noNic(all)));
            PostedChecks.notRun(report, DIRECT, GID, ATOMICS);
            return List.of();
        }
        List<String> names = nics.get().names();
        List<OpenedDevice> mine = usable.stream()
                .filter(one ->
                        names.stream().anyMatch(port -> Ports.device(port).equals(one.name())))
                .toList();
        report.check(IbrcOffer.nic(device, all, nics.get()));
        report.check(direct(device, config, mine));
        List<String> up = new ArrayList<>(names);
        up.addAll(silent);
        PortGids gids = PortGids.of(topology.nics(), up, EpKeys.NIC_GID_INDEX.get(config));
        report.check(gids.check());
        report.fact(IbrcOffer.PORTS, String.join(",", gids.ports()));
        report.fact(ProbeReport.SUMMARY, "ports " + String.join(", ", gids.ports()));
        boolean wanted = IbrcKeys.COUNTERS.get(config).equals(IbrcKeys.ATOMIC);
        report.check(wanted ? atomics(mine) : Check.pass(ATOMICS, "not needed: counters advance with immediate data"));
        return nics.get().ports();
    }

    /** Ports of opened devices that are up, and have nothing to send from. */
    private static List<String> withoutGid(Locality locality, Predicate<NicReach> opened) {
        return locality.nics().stream()
                .filter(nic -> nic.family().rdma() && opened.test(nic))
                .flatMap(nic -> nic.obstacles().entrySet().stream()
                        .filter(port ->
                                port.getValue() == PortObstacle.NO_GID || port.getValue() == PortObstacle.LINK_LOCAL)
                        .map(port -> nic.name() + ":" + port.getKey()))
                .toList();
    }

    private static Check direct(Device device, EpConfig config, List<OpenedDevice> usable) {
        if (device.equals(Device.HOST)) {
            return Check.pass(DIRECT, "every NIC reaches host memory directly");
        }
        List<String> without = usable.stream()
                .filter(one -> !one.dmabuf())
                .map(OpenedDevice::name)
                .toList();
        Optional<GpuDirect> facts = CudaNicMemory.facts(device).or(() -> HipNicMemory.facts(device));
        return Registrable.of(facts, kind -> GpuMemory.refusal(kind, without, GpuMemory.peerMemoryRefusal(device)))
                .check(DIRECT, config);
    }

    private static Check atomics(List<OpenedDevice> usable) {
        List<String> without = usable.stream()
                .filter(one -> !one.atomics())
                .map(OpenedDevice::name)
                .toList();
        return without.isEmpty()
                ? Check.pass(ATOMICS, "all devices support remote atomic additions")
                : Check.warn(
                        ATOMICS,
                        "no remote atomic additions on " + String.join(", ", without)
                                + ", so counters advance with immediate data on all ranks",
                        "leave " + IbrcKeys.COUNTERS.name()
                                + " at its default, or exclude these devices with ep.nic.exclude");
    }
}
