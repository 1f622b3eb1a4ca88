package org.ep4j.topology.read;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.topology.Distance;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuSwitch;
import org.ep4j.topology.HostBridge;
import org.ep4j.topology.Nic;
import org.ep4j.topology.NumaNode;
import org.ep4j.topology.Part;
import org.ep4j.topology.PathType;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.PciSwitch;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyCopy;
import org.ep4j.topology.TopologyException;

/**
 * The PCI tree of a virtual machine as its provider describes it, in the file that NCCL reads: the one that
 * {@code NCCL_TOPO_FILE} names, else {@link #VIRTUAL} ({@code graph/topo.cc}). The tree that such a machine shows is often flat:
 * every device hangs below a root port of its own, whatever switches it shares with others on the host.
 */
final class ProviderTree {
    /** Where NCCL looks when its variable names nothing. */
    static final String VIRTUAL = "/var/run/nvidia-topologyd/virtualTopology.xml";

    private static final String VARIABLE = "NCCL_TOPO_FILE";

    private final Topology machine;
    private final Topology described;

    /** Devices of the machine that the file has, and what the file has of them. */
    private final Map<Part, Part> matched = new LinkedHashMap<>();

    private ProviderTree(Topology machine, Topology described) {
        this.machine = machine;
        this.described = described;
        Map<PciAddress, Part> places = new HashMap<>();
        for (Part part : described.parts()) {
            address(part).ifPresent(place -> places.put(place, part));
        }
        for (Part part : machine.parts()) {
            address(part).map(places::get).ifPresent(place -> matched.put(part, place));
        }
    }

    /** A machine with its provider's PCI tree, where there is one; a warning where one is missed. */
    static Topology apply(Topology machine, FileTree files, Map<String, String> environment) {
        String named = environment.getOrDefault(VARIABLE, "").strip();
        String file = named.isEmpty() ? VIRTUAL : absolute(named);
        Optional<String> text = files.text(file);
        if (text.isEmpty()) {
            Topology known = named.isEmpty()
                    ? machine
                    : warned(
                            machine,
                            VARIABLE + " is " + Faults.quote(named) + ", which cannot be read; correct or unset it");
            return flat(machine, files)
                    ? warned(
                            known,
                            "this virtual machine shows all NICs equally far from its GPUs; where its provider has a topology"
                                    + " file for NCCL, name it in " + VARIABLE + ", or put it at " + VIRTUAL)
                    : known;
        }
        String name = named.isEmpty() ? file : VARIABLE + " = " + named;
        try {
            return new ProviderTree(machine, NcclXml.read(file, text.get())).merged(name);
        } catch (TopologyException e) {
            return warned(machine, "the PCI tree of " + name + " is not used: " + e.getMessage());
        }
    }

    private static String absolute(String named) {
        try {
            return Path.of(named).toAbsolutePath().toString();
        } catch (InvalidPathException e) {
            return named;
        }
    }

    private static Topology warned(Topology topology, String warning) {
        return TopologyCopy.of(topology, topology.source(), part -> part)
                .warn(warning)
                .build();
    }

    private Topology merged(String name) {
        if (matched.isEmpty()) {
            return warned(
                    machine,
                    "the PCI tree of " + name
                            + " is not used: no GPU or NIC of this machine has a bus id that it lists");
        }
        String source = machine.source() + ", its PCI tree from " + name;
        Set<Part> kept = kept();
        Topology.Builder builder =
                TopologyCopy.some(machine, source, part -> kept.contains(part) ? Optional.of(part) : Optional.empty());
        matched.keySet().forEach(builder::add);
        links(builder);
        described.warnings().forEach(warning -> builder.warn(name + ": " + warning));
        long missing =
                machine.gpus().stream().filter(gpu -> !matched.containsKey(gpu)).count();
        if (missing > 0) {
            builder.warn(name + " does not list " + missing + " of "
                    + machine.gpus().size() + " GPUs, which keep the place that the machine shows");
        }
        return builder.build();
    }

    /** All that the file does not place: NUMA nodes, switches of GPU links, other devices with what is between them and their node. */
    private Set<Part> kept() {
        Set<Part> kept = new HashSet<>();
        Deque<Part> next = new ArrayDeque<>();
        for (Part part : machine.parts()) {
            boolean other = isDevice(part) && !matched.containsKey(part);
            if (other) {
                next.add(part);
            }
            if (other || part instanceof NumaNode || part instanceof GpuSwitch) {
                kept.add(part);
            }
        }
        while (!next.isEmpty()) {
            for (Part above : machine.neighbours(next.remove())) {
                if (isPci(above) && kept.add(above)) {
                    next.add(above);
                }
            }
        }
        return kept;
    }

    private void links(Topology.Builder builder) {
        // NVLink and xGMI are the machine's: a file for NCCL may have none.
        for (Part device : matched.keySet()) {
            for (Part neighbour : machine.neighbours(device)) {
                boolean once = !matched.containsKey(neighbour) || device.label().compareTo(neighbour.label()) < 0;
                if (once && !isPci(neighbour) && !(neighbour instanceof NumaNode)) {
                    machine.links(device, neighbour).forEach(link -> builder.link(device, neighbour, link));
                }
            }
        }
        Map<Part, Part> places = new LinkedHashMap<>();
        for (Part part : described.parts()) {
            if (part instanceof NumaNode node) {
                places.put(
                        part,
                        machine.numaNodes().stream()
                                .filter(own -> own.number() == node.number())
                                .findFirst()
                                .orElse(node));
            } else if (isPci(part)) {
                places.put(part, part);
            }
        }
        matched.forEach((device, place) -> places.put(place, device));
        Set<Part> done = new HashSet<>();
        places.forEach((place, part) -> {
            builder.add(part);
            done.add(place);
            for (Part other : described.neighbours(place)) {
                Part neighbour = places.get(other);
                if (neighbour != null && !done.contains(other) && !hasOwnLink(part, neighbour)) {
                    described.links(place, other).forEach(link -> builder.link(part, neighbour, link));
                }
            }
        });
    }

    /** True for two parts whose links are the machine's own: devices, and its NUMA nodes. */
    private boolean hasOwnLink(Part a, Part b) {
        return (isDevice(a) && isDevice(b))
                || (machine.numaNodes().contains(a) && machine.numaNodes().contains(b));
    }

    private static boolean isDevice(Part part) {
        return part instanceof Gpu || part instanceof Nic;
    }

    private static boolean isPci(Part part) {
        return part instanceof PciSwitch || part instanceof HostBridge;
    }

    private static Optional<PciAddress> address(Part part) {
        if (part instanceof Gpu gpu) {
            return gpu.address();
        }
        return part instanceof Nic nic ? nic.address() : Optional.empty();
    }

    /** True for a virtual machine with several NICs with RDMA, none of which shares a PCIe switch with a GPU. */
    private static boolean flat(Topology machine, FileTree files) {
        List<Nic> nics = machine.nics().stream()
                .filter(nic ->
                        nic.compute() && nic.family().rdma() && nic.address().isPresent())
                .toList();
        return nics.size() > 1
                && !machine.gpus().isEmpty()
                && machine.gpus().stream().allMatch(gpu -> {
                    Map<Part, Distance> reach = machine.distances(gpu);
                    return nics.stream()
                            .allMatch(nic -> !reach.containsKey(nic)
                                    || reach.get(nic).type().compareTo(PathType.PHB) >= 0);
                })
                && virtual(files);
    }

    private static boolean virtual(FileTree files) {
        return files.exists("/sys/hypervisor/type")
                || files.text("/sys/class/dmi/id/sys_vendor").orElse("").contains("QEMU")
                || files.text("/proc/cpuinfo").orElse("").lines().anyMatch(ProviderTree::hypervisor);
    }

    /** Linux on x86-64 shows the bit of CPUID that hypervisors set. */
    private static boolean hypervisor(String line) {
        return line.startsWith("flags") && (line + " ").contains(" hypervisor ");
    }
}
