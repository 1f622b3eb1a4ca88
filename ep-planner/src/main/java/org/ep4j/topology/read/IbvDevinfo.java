package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicFamilies;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyCopy;

/** The output of {@code ibv_devinfo}: of its own, or merged onto a machine that another source described. */
final class IbvDevinfo {
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
        List<IbvDevice> devices = IbvDevice.all(source, text);
        boolean none = text.lines().anyMatch(line -> line.strip().startsWith("No IB devices found"));
        if (devices.isEmpty() && !none) {
            throw Faults.at(
                    source,
                    1,
                    "expected the output of ibv_devinfo, which has \"hca_id:\" for every device; the line is "
                            + Faults.quote(text.lines().findFirst().orElse("")));
        }
        List<Nic> nics = machine.nics().stream().filter(nic -> nic.host() == 0).toList();
        IbvMatch match = IbvMatch.of(nics, devices);
        Set<String> names = devices.stream().map(IbvDevice::name).collect(Collectors.toSet());
        List<String> unlisted = new ArrayList<>();
        Topology.Builder copy = TopologyCopy.of(machine, machine.source() + " and " + source, part -> {
            if (!(part instanceof Nic nic) || nic.host() != 0) {
                return part;
            }
            IbvDevice device = match.device(nic);
            if (device != null) {
                return merged(nic, device);
            }
            if (!verbs(nic) || match.ambiguous().contains(nic)) {
                return nic;
            }
            unlisted.add(nic.name());
            // Another device may have the name now.
            return nic.unlisted(names.contains(nic.name()) ? nic.name() + "#2" : nic.name());
        });
        // The text lists all NICs that have verbs.
        copy.withoutAssumptions(NcclNics.SUPPOSED);
        if (devices.isEmpty()) {
            copy.warn(source + " says that ibv_devinfo found no device (\"No IB devices found\")");
        }
        devices.forEach(device -> odd(device).forEach(copy::warn));
        match.doubts().forEach(doubt -> copy.warn(source + ": " + doubt));
        if (!unlisted.isEmpty()) {
            copy.warn(source + " does not list " + String.join(", ", unlisted) + ", which " + machine.source()
                    + " has; ibv_devinfo lists every device that a process can open, so these NICs are not used");
        }
        match.lacking().forEach(device -> {
            copy.add(nic(device, 0));
            copy.warn(source + " has " + device.name() + ", which " + machine.source()
                    + " lacks; the NIC is added, but its distance to other devices is not known");
        });
        return copy.build();
    }

    /** True for what {@code ibv_devinfo} would list: all RDMA but Slingshot, which has no verbs. */
    private static boolean verbs(Nic nic) {
        return nic.family().rdma() && nic.family() != NicFamily.CXI;
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
                        device.ports())
                .withGuid(device.guid());
    }

    /** What the machine knows stays, and what it does not know is filled. */
    private static Nic merged(Nic nic, IbvDevice device) {
        boolean unknown = nic.id().vendor() < 0;
        PciId id = unknown
                ? new PciId(device.vendor(), device.part(), -1, -1, nic.id().classCode())
                : nic.id();
        boolean guessed = nic.driver().isEmpty() && unknown;
        return new Nic(
                nic.host(),
                device.name(),
                nic.address(),
                nic.physical(),
                id,
                guessed ? family(id) : nic.family(),
                nic.driver(),
                device.card().isEmpty() ? nic.card() : device.card(),
                nic.numa(),
                nic.gpuDirect(),
                nic.compute(),
                ports(nic, device),
                device.guid().isEmpty() ? nic.guid() : device.guid(),
                true);
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
