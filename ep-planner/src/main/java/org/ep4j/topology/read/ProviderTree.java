package org.ep4j.topology.read;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.ep4j.topology.Distance;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.HostBridge;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;
import org.jspecify.annotations.Nullable;

/**
 * The PCI tree of a virtual machine as its provider describes it, in the file that NCCL reads: the one that
 * {@code NCCL_TOPO_FILE} names, in the environment or in a file of NCCL's settings, else {@link #VIRTUAL}
 * ({@code graph/topo.cc}, {@code misc/param.cc}). The tree that such a machine shows is often flat: every device hangs below a root
 * port of its own, whatever switches it shares with others on the host.
 */
final class ProviderTree {
    /** Where NCCL looks when its variable names nothing. */
    static final String VIRTUAL = "/var/run/nvidia-topologyd/virtualTopology.xml";

    private static final String VARIABLE = "NCCL_TOPO_FILE";

    /** Rate of a link where the file gives none. */
    private static final double DEFAULT_RATE = LinkBandwidths.pci(0, 0);

    private final Topology machine;
    private final Topology described;

    /** Devices of the machine by what the file has of them. Functions without an address share that of another one. */
    private final Map<Part, List<Part>> devices;

    /** By device or switch of the machine: the next part on the way to its NUMA node. */
    private final Map<Part, Part> above = new HashMap<>();

    private ProviderTree(Topology machine, Topology described) {
        this.machine = machine;
        this.described = described;
        devices = devices(machine, described);
        Deque<Part> next = new ArrayDeque<>(machine.numaNodes());
        while (!next.isEmpty()) {
            Part part = next.remove();
            for (Part below : machine.neighbours(part)) {
                if (isPci(below) && above.putIfAbsent(below, part) == null) {
                    next.add(below);
                }
            }
        }
    }

    /** Returns a machine with its provider's PCI tree, where there is one; adds a warning where one is missed. */
    static Topology apply(Topology machine, FileTree files, Map<String, String> environment) {
        Optional<Named> named = named(files, environment);
        String file = named.map(Named::file).orElse(VIRTUAL);
        String name = named.map(Named::text).orElse(VIRTUAL);
        Optional<String> text = files.text(file);
        if (text.isEmpty()) {
            List<String> warnings = new ArrayList<>();
            if (named.isPresent()) {
                warnings.add("the file of " + name + " cannot be read; correct or remove this setting");
            }
            if (flat(machine, files)) {
                warnings.add(
                        "this virtual machine shows all NICs equally far from its GPUs; if the cloud provider has a"
                                + " topology file for NCCL, name this file in " + VARIABLE + ", or put it at "
                                + VIRTUAL);
            }
            return machine.withWarnings(warnings);
        }
        try {
            // The rates of the machine itself are used.
            return new ProviderTree(machine, NcclTopology.read(file, text.get(), false)).merged(name);
        } catch (TopologyException e) {
            return machine.withWarnings(List.of("the PCI tree of " + name + " is not used: " + e.getMessage()));
        }
    }

    /** The file that a setting names, and the setting for messages. */
    private record Named(String file, String text) {}

    /**
     * Returns the file that the variable names, else NCCL's files of settings, of the user and of the machine, in which
     * the first one counts.
     */
    private static Optional<Named> named(FileTree files, Map<String, String> environment) {
        String variable = environment.getOrDefault(VARIABLE, "").strip();
        if (!variable.isEmpty()) {
            return Optional.of(new Named(absolute(variable), VARIABLE + " = " + variable));
        }
        String own = environment.getOrDefault("NCCL_CONF_FILE", "");
        if (own.isEmpty()) {
            own = environment.getOrDefault("HOME", "") + "/.nccl.conf";
        }
        for (String settings : List.of(absolute(own), "/etc/nccl.conf")) {
            Optional<String> value = files.text(settings)
                    .orElse("")
                    .lines()
                    .map(String::strip)
                    .filter(line -> line.startsWith(VARIABLE + "="))
                    .map(line -> line.substring(VARIABLE.length() + 1).strip())
                    .filter(path -> !path.isEmpty())
                    .findFirst();
            if (value.isPresent()) {
                return value.map(path -> new Named(absolute(path), VARIABLE + " = " + path + " of " + settings));
            }
        }
        return Optional.empty();
    }

    private static String absolute(String named) {
        try {
            return Path.of(named).toAbsolutePath().toString();
        } catch (InvalidPathException e) {
            return named;
        }
    }

    /**
     * Devices of the machine by the described part at their address: of the described host that has most of them, since a file
     * may hold several hosts, whose bus ids repeat.
     */
    private static Map<Part, List<Part>> devices(Topology machine, Topology described) {
        Map<Integer, Map<PciAddress, Part>> hosts = new TreeMap<>();
        for (Part part : described.parts()) {
            address(part)
                    .ifPresent(place -> hosts.computeIfAbsent(part.host(), host -> new HashMap<>())
                            .put(place, part));
        }
        Map<Part, List<Part>> best = Map.of();
        for (Map<PciAddress, Part> places : hosts.values()) {
            Map<Part, List<Part>> found = new LinkedHashMap<>();
            for (Part device : machine.parts()) {
                address(device)
                        .map(places::get)
                        .ifPresent(place -> found.computeIfAbsent(place, any -> new ArrayList<>())
                                .add(device));
            }
            if (found.size() > best.size()) {
                best = found;
            }
        }
        return best;
    }

    private Topology merged(String name) {
        if (devices.isEmpty()) {
            return machine.withWarnings(List.of("the PCI tree of " + name
                    + " is not used: no GPU or NIC of this machine has a bus id that this tree lists"));
        }
        int host = devices.keySet().iterator().next().host();
        String source = machine.source() + ", its PCI tree from " + name;
        Topology.Builder builder = machine.copy(source, part -> isPci(part) ? Optional.empty() : Optional.of(part));
        Map<Part, List<Part>> made = new LinkedHashMap<>(devices);
        for (Part part : described.parts()) {
            if (part.host() == host && part instanceof NumaNode node) {
                made.put(part, List.of(own(node)));
            } else if (part.host() == host && part instanceof PciSwitch found) {
                made.put(part, List.of(new PciSwitch(0, found.address(), found.id())));
            }
        }
        made.values().forEach(parts -> parts.forEach(builder::add));
        links(builder, made);
        nodes(builder, made);
        keepPlaces(builder, made);
        described.warnings().forEach(warning -> builder.warn(name + ": " + warning));
        Set<Part> placed = new HashSet<>();
        devices.values().forEach(placed::addAll);
        long missing =
                machine.gpus().stream().filter(gpu -> !placed.contains(gpu)).count();
        if (missing > 0) {
            builder.warn(name + " does not list " + missing + " of "
                    + machine.gpus().size() + " GPUs; these keep their place in the PCI tree that the machine shows");
        }
        return builder.build();
    }

    /** The machine's node of that number; its only one where the file does not say. */
    private NumaNode own(NumaNode node) {
        List<NumaNode> nodes = machine.numaNodes();
        if (node.number() < 0 && nodes.size() == 1) {
            return nodes.get(0);
        }
        return nodes.stream()
                .filter(own -> own.number() == node.number())
                .findFirst()
                // The processors of the machine are in its own nodes.
                .orElseGet(() -> new NumaNode(0, node.number(), node.processor(), 0));
    }

    /**
     * Adds links of the file, but those between devices, which the machine has better, and those between NUMA nodes.
     */
    private void links(Topology.Builder builder, Map<Part, List<Part>> made) {
        Set<Part> done = new HashSet<>();
        made.forEach((place, parts) -> {
            done.add(place);
            for (Part other : described.neighbours(place)) {
                boolean devices = isDevice(place) && isDevice(other);
                boolean nodes = place instanceof NumaNode && other instanceof NumaNode;
                if (!devices && !nodes && !done.contains(other)) {
                    for (Part neighbour : made.getOrDefault(other, List.of())) {
                        parts.forEach(part -> described
                                .links(place, other)
                                .forEach(link -> builder.link(part, neighbour, rated(link, part, neighbour))));
                    }
                }
            }
        });
    }

    /** A device's own rate, where the file has none. */
    private Link rated(Link link, Part a, Part b) {
        double own = Stream.of(a, b)
                .filter(ProviderTree::isDevice)
                .flatMap(device -> machine.neighbours(device).stream()
                        .filter(ProviderTree::isPci)
                        .flatMap(port -> machine.links(device, port).stream()))
                .mapToDouble(Link::gigabytesPerSecond)
                .max()
                .orElse(0);
        boolean unknown = link.type() == LinkType.PCI && link.gigabytesPerSecond() == DEFAULT_RATE;
        return unknown && own > DEFAULT_RATE ? new Link(link.type(), own, link.count()) : link;
    }

    /** Every NUMA node is linked with every other: nodes of the machine with those that the file adds. */
    private void nodes(Topology.Builder builder, Map<Part, List<Part>> made) {
        List<NumaNode> nodes = Stream.concat(machine.numaNodes().stream(), all(NumaNode.class, made))
                .distinct()
                .toList();
        for (int i = 0; i < nodes.size(); i++) {
            for (int j = 0; j < i; j++) {
                if (machine.links(nodes.get(i), nodes.get(j)).isEmpty()) {
                    builder.link(nodes.get(i), nodes.get(j), NumaNodes.link(nodes.get(j)));
                }
            }
        }
    }

    /** Devices that the file lacks stay below what the machine shows above them, up to a switch that the file has. */
    private void keepPlaces(Topology.Builder builder, Map<Part, List<Part>> made) {
        Map<PciAddress, Part> switches = new HashMap<>();
        all(PciSwitch.class, made).forEach(found -> switches.put(found.address(), found));
        Set<Part> placed = new HashSet<>();
        devices.values().forEach(placed::addAll);
        for (Part device : machine.parts()) {
            if (isDevice(device) && placed.add(device)) {
                machine.neighbours(device).stream()
                        .filter(ProviderTree::isPci)
                        .forEach(port -> keepPlace(builder, device, port, switches, placed));
            }
        }
    }

    private static <T> Stream<T> all(Class<T> kind, Map<Part, List<Part>> made) {
        return made.values().stream()
                .flatMap(List::stream)
                .filter(kind::isInstance)
                .map(kind::cast);
    }

    private void keepPlace(
            Topology.Builder builder, Part device, Part port, Map<PciAddress, Part> switches, Set<Part> placed) {
        Part below = device;
        @Nullable Part at = port;
        while (at != null) {
            Part known = at instanceof PciSwitch found ? switches.getOrDefault(found.address(), at) : at;
            builder.add(known);
            for (Link link : machine.links(below, at)) {
                builder.link(below, known, link);
            }
            if (switches.containsValue(known) || !placed.add(at)) {
                // What is above it is there.
                return;
            }
            below = at;
            at = above.get(at);
        }
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
