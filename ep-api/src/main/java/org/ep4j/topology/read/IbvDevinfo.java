package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.Gid;
import org.ep4j.topology.Nic;
import org.ep4j.topology.NicFamilies;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicPort;
import org.ep4j.topology.Part;
import org.ep4j.topology.PciId;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyCopy;

/** The output of {@code ibv_devinfo}: of its own, or merged onto a machine that another source described. */
final class IbvDevinfo {
    private static final PciId NONE = PciId.UNKNOWN;

    private IbvDevinfo() {}

    static boolean recognises(String text) {
        return text.lines().anyMatch(line -> line.strip().startsWith("hca_id:"));
    }

    /** A machine of which nothing but NICs is known. */
    static Topology read(String source, String text) {
        Topology.Builder builder = Topology.builder(source);
        int host = builder.host("");
        for (IbvDevice device : IbvDevice.all(source, text)) {
            builder.add(nic(device, host));
            odd(device).forEach(builder::warn);
        }
        return builder.build();
    }

    static Topology merge(Topology machine, String source, String text) {
        Map<String, IbvDevice> devices = new LinkedHashMap<>();
        IbvDevice.all(source, text).forEach(device -> devices.put(device.name(), device));
        boolean none = text.lines().anyMatch(line -> line.strip().startsWith("No IB devices found"));
        if (devices.isEmpty() && !none) {
            throw Faults.at(
                    source,
                    1,
                    "expected the output of ibv_devinfo, which has \"hca_id:\" for every device; the line is "
                            + Faults.quote(text.lines().findFirst().orElse("")));
        }
        Map<String, IbvDevice> lacking = new LinkedHashMap<>(devices);
        machine.nics().stream().filter(nic -> nic.host() == 0).map(Nic::name).forEach(lacking::remove);
        Topology.Builder copy = TopologyCopy.of(machine, machine.source() + " and " + source, part -> {
            if (part instanceof Nic nic && nic.host() == 0) {
                return Optional.ofNullable(devices.get(nic.name()))
                        .<Part>map(device -> merged(nic, device))
                        .orElse(nic);
            }
            return part;
        });
        if (devices.isEmpty()) {
            copy.warn(source + " says that ibv_devinfo found no device (\"No IB devices found\")");
        }
        devices.values().forEach(device -> odd(device).forEach(copy::warn));
        lacking.values().forEach(device -> {
            copy.add(nic(device, 0));
            copy.warn(source + " has " + device.name() + ", which " + machine.source()
                    + " lacks; it is added, and how near it is to anything is not known");
        });
        return copy.build();
    }

    private static Nic nic(IbvDevice device, int host) {
        PciId id = new PciId(device.vendor(), device.part(), -1, -1, -1);
        return new Nic(
                host,
                device.name(),
                Optional.empty(),
                id,
                family(id),
                "",
                device.card().isEmpty() ? device.name() : device.card(),
                -1,
                Optional.empty(),
                true,
                device.ports());
    }

    /** What the machine knows stays, and what it does not know is filled. */
    private static Nic merged(Nic nic, IbvDevice device) {
        PciId id = nic.id().equals(NONE) ? new PciId(device.vendor(), device.part(), -1, -1, -1) : nic.id();
        boolean guessed = nic.driver().isEmpty() && nic.id().equals(NONE);
        return new Nic(
                nic.host(),
                nic.name(),
                nic.address(),
                nic.physical(),
                id,
                guessed ? family(id) : nic.family(),
                nic.driver(),
                device.card().isEmpty() ? nic.card() : device.card(),
                nic.numa(),
                nic.gpuDirect(),
                nic.compute(),
                ports(nic, device));
    }

    private static List<NicPort> ports(Nic nic, IbvDevice device) {
        Map<Integer, NicPort> known = new HashMap<>();
        nic.ports().forEach(port -> known.put(port.number(), port));
        List<NicPort> ports = new ArrayList<>();
        for (NicPort port : device.ports()) {
            NicPort old = known.getOrDefault(port.number(), NicPort.of(port.number(), 0));
            ports.add(new NicPort(
                    port.number(),
                    port.state(),
                    port.linkLayer(),
                    port.gigabitsPerSecond() > 0 ? port.gigabitsPerSecond() : old.gigabitsPerSecond(),
                    port.activeMtu(),
                    port.lid(),
                    old.netdev(),
                    port.gids().isEmpty() ? old.gids() : gids(port.gids(), old.gids()),
                    port.gidsRead() || old.gidsRead(),
                    old.network()));
        }
        return ports;
    }

    /** Entries of the output, with what the machine knew of the same entries. */
    private static List<Gid> gids(List<Gid> read, List<Gid> known) {
        return read.stream()
                .map(gid -> known.stream()
                        .filter(old ->
                                old.index() == gid.index() && old.address().equals(gid.address()))
                        .findFirst()
                        .orElse(gid))
                .toList();
    }

    private static NicFamily family(PciId id) {
        NicFamily family = NicFamilies.of("", id);
        // It has verbs, so it is no plain Ethernet.
        return family == NicFamily.ETHERNET ? NicFamily.OTHER_RDMA : family;
    }

    private static List<String> odd(IbvDevice device) {
        List<String> odd = new ArrayList<>(device.lost());
        if (device.atomics().startsWith("ATOMIC_NONE")) {
            odd.add(device.name() + " has no atomics (" + device.atomics() + ")");
        }
        return odd;
    }
}
