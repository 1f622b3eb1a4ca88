package org.ep4j.topology.read;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.HostBridge;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Printable;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;

/**
 * Checks a topology of any reader: names are short and can be printed, and numbers are such as machines have. Odd
 * values become unknown or are escaped, with a warning.
 */
final class SanityCheck {
    /** Gigabits a second; no port is as fast. */
    private static final double RATE = 10_000;

    /** Hardware threads of a NUMA node. Linux is built for 8,192 of a machine. */
    private static final int PROCESSORS = 65_536;

    /** Largest number of warnings. */
    private static final int WARNINGS = 20;

    private final Topology topology;

    /** True for files: a machine that is larger than any is refused. */
    private final boolean refuses;

    private final Set<String> odd = new LinkedHashSet<>();
    private final Set<String> names = new HashSet<>();

    private SanityCheck(Topology topology, boolean refuses) {
        this.topology = topology;
        this.refuses = refuses;
    }

    /**
     * Returns the machine without impossible values; refuses one that is larger than any, or with an impossible index.
     */
    static Topology of(Topology topology) {
        return new SanityCheck(topology, true).check();
    }

    /** As {@link #of}, for the machine of this process: whatever is beyond a limit is a warning, since it is there. */
    static Topology ofThisMachine(Topology topology) {
        return new SanityCheck(topology, false).check();
    }

    private Topology check() {
        count(topology.gpus().size(), Limits.GPUS, "GPUs");
        count(topology.nics().size(), Limits.NICS, "NICs");
        count(topology.numaNodes().size(), Limits.NUMA_NODES, "NUMA nodes");
        topology.nics().forEach(nic -> names.add(nic.host() + " " + nic.name()));
        Map<Part, Part> changed = new HashMap<>();
        for (Part part : topology.parts()) {
            Part checked = part(part);
            if (!checked.equals(part)) {
                changed.put(part, checked);
            }
        }
        topology.hosts().forEach(host -> name(host.name(), "a host"));
        if (odd.isEmpty()) {
            return topology;
        }
        Topology.Builder copy = topology.copy(topology.source(), part -> Optional.of(changed.getOrDefault(part, part)))
                .renameHosts(host -> name(host, "a host"));
        odd.forEach(copy::warn);
        return copy.build();
    }

    private void count(int found, int most, String what) {
        if (found > most && refuses) {
            throw Faults.in(topology.source(), "there are " + found + " " + what + "; at most " + most + " are read");
        }
        if (found > most) {
            odd("there are " + found + " " + what + "; no known machine has more than " + most);
        }
    }

    private Part part(Part part) {
        if (part instanceof Gpu gpu) {
            return gpu(gpu);
        }
        if (part instanceof Nic nic) {
            return nic(nic);
        }
        if (part instanceof NumaNode node) {
            return node(node);
        }
        if (part instanceof HostBridge bridge) {
            return new HostBridge(bridge.host(), name(bridge.name(), "a host bridge"));
        }
        return part instanceof GpuSwitch bar ? new GpuSwitch(bar.host(), name(bar.name(), "a switch")) : part;
    }

    private Gpu gpu(Gpu gpu) {
        return gpu.toBuilder()
                .name(name(gpu.name(), "a GPU"))
                .architecture(name(gpu.architecture(), "the architecture of a GPU"))
                .model(name(gpu.model(), "the model of a GPU"))
                .clique(name(gpu.clique(), "the clique of a GPU"))
                .card(name(gpu.card(), "the card of a GPU"))
                .build();
    }

    private Nic nic(Nic nic) {
        String name = name(nic.name(), "a NIC");
        for (int i = 2; !name.equals(nic.name()) && !names.add(nic.host() + " " + name); i++) {
            name = name(nic.name(), "a NIC") + "#" + i;
        }
        count(nic.ports().size(), Limits.PORTS, "ports of " + name);
        return new Nic(
                nic.host(),
                name,
                nic.address(),
                nic.physical(),
                nic.id(),
                nic.family(),
                name(nic.driver(), "the driver of a NIC"),
                name(nic.card(), "the card of a NIC"),
                nic.numa(),
                nic.gpuDirect(),
                nic.compute(),
                nic.ports().stream().map(port -> port(nic, port)).toList(),
                name(nic.guid(), "the GUID of a NIC"),
                nic.listed());
    }

    private NicPort port(Nic nic, NicPort port) {
        count(port.gids().size(), Limits.GIDS, "GIDs of a port of " + Printable.quote(nic.name()));
        boolean possible = port.gigabitsPerSecond() >= 0 && port.gigabitsPerSecond() <= RATE;
        if (!possible) {
            odd("port " + port.number() + " of " + nic.name() + " has a rate of " + port.gigabitsPerSecond()
                    + " Gb/s; no port is faster than " + RATE + ", so it counts as unknown");
        }
        return new NicPort(
                port.number(),
                port.state(),
                port.linkLayer(),
                possible ? port.gigabitsPerSecond() : 0,
                port.activeMtu(),
                port.lid(),
                name(port.netdev(), "the interface of a port"),
                port.gids().stream().map(this::gid).toList(),
                port.gidsRead(),
                name(port.network(), "the network of a port"));
    }

    private Gid gid(Gid gid) {
        return new Gid(
                gid.index(),
                name(gid.address(), "a GID"),
                name(gid.type(), "the type of a GID"),
                name(gid.netdev(), "the interface of a GID"),
                name(gid.network(), "the network of a GID"),
                gid.foreign());
    }

    private NumaNode node(NumaNode node) {
        if (node.number() > Limits.NUMA_NUMBER && refuses) {
            throw Faults.in(
                    topology.source(),
                    "a NUMA node has the number " + node.number() + "; the highest that Linux has is "
                            + Limits.NUMA_NUMBER);
        }
        Processor processor = node.processor();
        return new NumaNode(
                node.host(),
                node.number(),
                new Processor(
                        name(processor.architecture(), "the architecture of a processor"),
                        name(processor.vendor(), "the vendor of a processor"),
                        number(processor.family(), NcclValues.FAMILY, "family"),
                        number(processor.model(), NcclValues.MODEL, "model")),
                Math.max(0, number(node.processors(), PROCESSORS, "number of hardware threads")));
    }

    private int number(int number, int most, String what) {
        if (number >= -1 && number <= most) {
            return number;
        }
        odd("a processor has the " + what + " " + number + "; none is higher than " + most
                + ", so it counts as unknown");
        return -1;
    }

    /** Returns a short and printable name. */
    private String name(String name, String of) {
        String shown = Printable.line(name.length() > Limits.NAME ? name.substring(0, Limits.NAME) : name);
        if (!shown.equals(name)) {
            odd("the name of " + of + " has " + name.length() + " characters (at most " + Limits.NAME
                    + " are used), or some that cannot be printed: " + Printable.quote(name) + " is used");
        }
        return shown;
    }

    private void odd(String warning) {
        if (odd.size() < WARNINGS) {
            odd.add(warning);
        }
    }
}
