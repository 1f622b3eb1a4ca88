package org.ep4j.topology.model;

import com.google.common.graph.ImmutableValueGraph;
import com.google.common.graph.MutableValueGraph;
import com.google.common.graph.ValueGraphBuilder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.ep4j.topology.Distance;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;

/**
 * A machine, or the machines of one NVLink domain: hosts, NUMA nodes, PCIe switches, GPUs, NICs and the links between them.
 * Immutable; safe for use from several threads.
 *
 * <p>Most sources give the links, and distances are searched in them by {@link DistanceSearch}. Matrices as text give
 * distances and no links.
 */
public final class Topology {
    private final String source;
    private final List<Host> hosts;
    private final ImmutableValueGraph<Part, List<Link>> graph;
    private final List<Part> parts;
    private final List<Gpu> gpus;
    private final List<Nic> nics;
    private final Map<Part, Map<Part, Distance>> stated;
    private final List<String> warnings;
    private final List<String> assumptions;

    private Topology(Builder builder) {
        source = builder.source;
        hosts = List.copyOf(builder.hosts);
        graph = ImmutableValueGraph.copyOf(builder.graph);
        parts = List.copyOf(builder.parts);
        gpus = only(Gpu.class).stream()
                .sorted(Comparator.comparingInt(Gpu::host).thenComparingInt(Gpu::index))
                .toList();
        nics = only(Nic.class);
        Map<Part, Map<Part, Distance>> distances = new HashMap<>();
        builder.stated.forEach((from, others) -> distances.put(from, Map.copyOf(others)));
        stated = Map.copyOf(distances);
        warnings = List.copyOf(builder.warnings);
        assumptions = List.copyOf(builder.assumptions);
    }

    /** Starts a topology that was read from {@code source}, a name for messages. */
    public static Builder builder(String source) {
        return new Builder(source);
    }

    /** Name of the source, for messages. */
    public String source() {
        return source;
    }

    /** Hosts in the order of their index. */
    public List<Host> hosts() {
        return hosts;
    }

    /** Every part, in the order of the source. */
    public List<Part> parts() {
        return parts;
    }

    /** GPUs, by host and index. */
    public List<Gpu> gpus() {
        return gpus;
    }

    /** NICs in the order of the source, also those that carry no traffic of applications. */
    public List<Nic> nics() {
        return nics;
    }

    /** NUMA nodes. */
    public List<NumaNode> numaNodes() {
        return only(NumaNode.class);
    }

    /** Warnings for people: what was odd in the source, and how it was interpreted. */
    public List<String> warnings() {
        return warnings;
    }

    /** Assumptions for people: what the source does not say and was assumed. */
    public List<String> assumptions() {
        return assumptions;
    }

    /** Returns true if the source gives distances and no links. */
    public boolean stated() {
        return !stated.isEmpty();
    }

    /** Parts that a link connects with this one, in no particular order. */
    public Set<Part> neighbours(Part part) {
        return graph.adjacentNodes(part);
    }

    /** Links between two neighbours, one of each type; empty if they are not neighbours. */
    public List<Link> links(Part a, Part b) {
        return graph.edgeValue(a, b).orElse(List.of());
    }

    /** Best way between two devices, the same in both directions; empty when there is none. */
    public Optional<Distance> distance(Part from, Part to) {
        if (from.equals(to)) {
            return Optional.of(DistanceSearch.SELF);
        }
        if (to instanceof Gpu && !(from instanceof Gpu)) {
            return distance(to, from);
        }
        Distance known = stated.getOrDefault(from, Map.of()).get(to);
        if (known != null) {
            return Optional.of(known);
        }
        return Optional.ofNullable(distances(from).get(to));
    }

    /** Best ways from one device to all others that it can reach, by the links alone. */
    public Map<Part, Distance> distances(Part from) {
        if (stated()) {
            return stated.getOrDefault(from, Map.of());
        }
        return DistanceSearch.from(this, from);
    }

    /**
     * NICs of the same host that are nearest to a device, in the order of the source: several if they are equally near
     * and have the same bandwidth. NICs that carry no traffic of applications or cannot be opened do not count, nor do
     * interfaces of containers and virtual machines, and NICs without RDMA only where the host has no other.
     */
    public List<Nic> nearestNics(Part from) {
        Map<Part, Distance> reach = distances(from);
        Comparator<Nic> order = Comparator.comparing(
                        (Nic nic) -> reach(reach, nic).type())
                .thenComparing(nic -> -reach(reach, nic).gigabytesPerSecond());
        List<Nic> all = nics().stream()
                .filter(nic -> nic.leavesHost()
                        && nic.listed()
                        && !isForeign(nic, -1)
                        && nic.host() == from.host()
                        && reach.containsKey(nic))
                .toList();
        boolean rdma = all.stream().anyMatch(nic -> nic.family().rdma());
        List<Nic> near =
                all.stream().filter(nic -> !rdma || nic.family().rdma()).toList();
        Optional<Nic> nearest = near.stream().min(order);
        return near.stream()
                .filter(nic ->
                        nearest.filter(best -> order.compare(best, nic) == 0).isPresent())
                .toList();
    }

    /**
     * Returns the obstacle to sending from a port.
     *
     * @param gidIndex entry of the tables of GIDs that a setting names, for all ports; -1 for each port's own
     * @return empty when no obstacle is known
     */
    public Optional<PortObstacle> obstacle(Nic nic, NicPort port, int gidIndex) {
        if (!nic.listed()) {
            return Optional.of(PortObstacle.NOT_LISTED);
        }
        Optional<PortObstacle> found = port.obstacle(gidIndex);
        boolean foreign = found.filter(PortObstacle.OTHER_NAMESPACE::equals).isPresent();
        // A container without any interface of a NIC can send from its host's where a setting names the entry.
        return foreign && gidIndex >= 0 && !hasOwnPort(nic.host()) ? Optional.empty() : found;
    }

    private boolean hasOwnPort(int host) {
        return nics().stream()
                .filter(nic -> nic.host() == host && nic.family().rdma() && nic.listed())
                .flatMap(nic -> nic.ports().stream())
                .anyMatch(port -> port.linkLayer() == NicReach.LinkLayer.ETHERNET
                        && port.obstacle(-1).isEmpty());
    }

    /** Returns true for a NIC with ports, all of which belong to other network namespaces. */
    public boolean isForeign(Nic nic, int gidIndex) {
        return !nic.ports().isEmpty()
                && nic.ports().stream()
                        .allMatch(port -> obstacle(nic, port, gidIndex)
                                .filter(PortObstacle.OTHER_NAMESPACE::equals)
                                .isPresent());
    }

    private static Distance reach(Map<Part, Distance> reach, Nic nic) {
        return reach.getOrDefault(nic, DistanceSearch.SELF);
    }

    /** All parts of one kind, in the order of the source. */
    public <T extends Part> List<T> only(Class<T> kind) {
        return parts.stream().filter(kind::isInstance).map(kind::cast).toList();
    }

    /**
     * Returns a builder with the hosts, parts, links and distances of this topology, for readers that complete or correct
     * it from another source.
     *
     * @param name name of the copy for messages
     * @param change what becomes of every part: itself, or one of the same kind with more known, in its place; empty leaves
     *     it out with its links and distances
     */
    public Builder copy(String name, Function<Part, Optional<Part>> change) {
        Builder copy = new Builder(name);
        copy.merged = true;
        hosts.forEach(host -> copy.host(host.name()));
        Map<Part, Part> changed = new LinkedHashMap<>();
        Map<Part, Integer> place = new HashMap<>();
        for (Part part : parts) {
            change.apply(part).ifPresent(made -> {
                place.put(part, place.size());
                changed.put(part, made);
                copy.add(made);
            });
        }
        changed.forEach((part, made) -> {
            for (Part neighbour : neighbours(part)) {
                if (place.getOrDefault(part, 0) < place.getOrDefault(neighbour, 0)) {
                    links(part, neighbour)
                            .forEach(link -> copy.link(made, changed.getOrDefault(neighbour, neighbour), link));
                }
            }
            stated.getOrDefault(part, Map.of()).forEach((other, distance) -> {
                if (changed.containsKey(other)) {
                    copy.state(made, changed.getOrDefault(other, other), distance);
                }
            });
        });
        warnings.forEach(copy::warn);
        assumptions.forEach(copy::assume);
        return copy;
    }

    /** Returns a copy with further warnings. */
    public Topology withWarnings(List<String> further) {
        if (further.isEmpty()) {
            return this;
        }
        Builder copy = copy(source, Optional::of);
        further.forEach(copy::warn);
        return copy.build();
    }

    /** Gathers parts and links. Not safe for use from several threads. */
    public static final class Builder {
        /** Largest number of warnings: a broken file can be odd on every line. */
        private static final int WARNINGS = 100;

        private static final int WARNING = 1000;

        /** Characters that are kept free for the place of names among all of them. */
        private static final int PLACE = 50;

        private final String source;
        private final List<Host> hosts = new ArrayList<>();
        private final MutableValueGraph<Part, List<Link>> graph =
                ValueGraphBuilder.undirected().build();
        private final Set<Part> parts = new LinkedHashSet<>();
        private final Map<Part, Map<Part, Distance>> stated = new HashMap<>();
        private final List<String> warnings = new ArrayList<>();
        private final List<String> assumptions = new ArrayList<>();
        /** True for a copy: merging levels of switches once more would join different switches. */
        private boolean merged;

        private Builder(String source) {
            this.source = source;
        }

        /** Adds the next host and returns its index. */
        public int host(String name) {
            hosts.add(new Host(hosts.size(), name));
            return hosts.size() - 1;
        }

        /** Changes the names of the hosts so far. */
        public Builder renameHosts(UnaryOperator<String> change) {
            hosts.replaceAll(host -> new Host(host.index(), change.apply(host.name())));
            return this;
        }

        public Builder add(Part part) {
            parts.add(part);
            graph.addNode(part);
            return this;
        }

        /** Adds a link; links of one type between the same parts are summed. */
        public Builder link(Part a, Part b, Link link) {
            List<Link> links = new ArrayList<>(graph.edgeValue(a, b).orElse(List.of()));
            boolean known = links.stream().anyMatch(old -> old.type() == link.type());
            links.replaceAll(old -> old.type() == link.type() ? old.plus(link) : old);
            if (!known) {
                links.add(link);
            }
            graph.putEdgeValue(a, b, List.copyOf(links));
            return this;
        }

        /** Sets the distance between two devices, for both directions. */
        public Builder state(Part a, Part b, Distance distance) {
            stated.computeIfAbsent(a, from -> new HashMap<>()).put(b, distance);
            stated.computeIfAbsent(b, from -> new HashMap<>()).put(a, distance);
            return this;
        }

        /**
         * Adds a warning, with unprintable characters escaped. Only the first hundred are kept, and 1,000 characters of
         * each.
         */
        public Builder warn(String warning) {
            if (warnings.size() < WARNINGS) {
                warnings.add(Printable.line(warning, WARNING));
            }
            return this;
        }

        /**
         * Adds a warning about all {@code names}. A warning that would be too long is divided into several, each of
         * which gives the positions of its names and the number of all names.
         *
         * @param beginning what comes before the names
         * @param names no warning is added where there are none
         */
        public Builder warn(String beginning, List<String> names) {
            int from = 0;
            while (from < names.size()) {
                int to = from;
                int length = beginning.length() + PLACE;
                do {
                    length += names.get(to).length() + 2;
                    to++;
                } while (to < names.size() && length + names.get(to).length() <= WARNING);
                String place = to - from == names.size() ? "" : from + 1 + " to " + to + " of " + names.size() + ": ";
                warn(beginning + place + String.join(", ", names.subList(from, to)));
                from = to;
            }
            return this;
        }

        /** Adds an assumption: something that the source does not say. */
        public Builder assume(String assumption) {
            assumptions.add(assumption);
            return this;
        }

        /** Drops the assumptions whose text ends with {@code ending}, for use when another source has the facts. */
        public Builder withoutAssumptions(String ending) {
            assumptions.removeIf(text -> text.endsWith(ending));
            return this;
        }

        /** The topology. Levels of one Broadcom switch are merged, as NCCL does. */
        public Topology build() {
            if (hosts.isEmpty()) {
                host("");
            }
            if (!merged) {
                BroadcomSwitches.flatten(graph, parts);
            }
            return new Topology(this);
        }
    }

    /**
     * Merges the two levels that a Broadcom PEX switch shows of itself. PEX880xx and PEX890xx are one chip that appears as an
     * upper switch with further switches below it, so devices below it are one switch apart and not several. The ids are those
     * of NCCL ({@code graph/topo.cc}, {@code ncclTopoFlattenBcmSwitches}); board makers that set their own subsystem ids are
     * not recognised, there as here.
     */
    private static final class BroadcomSwitches {
        /** The low 12 bits of the subsystem device distinguish boards. */
        private static final long MASK = ~0xfffL;

        private static final long GEN4 = 0x1000_c010_1000_a000L;
        private static final long GEN5_UPPER = 0x1000_c030_1000_0000L;
        private static final long GEN5_LOWER = 0x1000_c030_1000_1000L;

        private BroadcomSwitches() {}

        /** Merges in place. An upper switch comes before its lower ones in {@code parts}. */
        static void flatten(MutableValueGraph<Part, List<Link>> graph, Set<Part> parts) {
            List<PciSwitch> switches = parts.stream()
                    .filter(PciSwitch.class::isInstance)
                    .map(PciSwitch.class::cast)
                    .toList();
            Set<PciSwitch> seen = new HashSet<>();
            for (PciSwitch upper : switches) {
                seen.add(upper);
                int generation = upper(upper.id());
                if (generation > 0 && graph.nodes().contains(upper)) {
                    for (Part part : List.copyOf(graph.adjacentNodes(upper))) {
                        if (part instanceof PciSwitch lower
                                && !seen.contains(lower)
                                && lower(lower.id()) == generation) {
                            merge(graph, upper, lower);
                            parts.remove(lower);
                        }
                    }
                }
            }
        }

        private static void merge(MutableValueGraph<Part, List<Link>> graph, PciSwitch upper, PciSwitch lower) {
            for (Part part : List.copyOf(graph.adjacentNodes(lower))) {
                if (!part.equals(upper)) {
                    List<Link> links =
                            new ArrayList<>(graph.edgeValue(upper, part).orElse(List.of()));
                    links.addAll(graph.edgeValue(lower, part).orElse(List.of()));
                    graph.putEdgeValue(upper, part, List.copyOf(links));
                }
            }
            graph.removeNode(lower);
        }

        private static int upper(PciId id) {
            long key = key(id) & MASK;
            return key == GEN4 ? 4 : key == GEN5_UPPER ? 5 : 0;
        }

        private static int lower(PciId id) {
            long key = key(id) & MASK;
            return key == GEN4 ? 4 : key == GEN5_LOWER ? 5 : 0;
        }

        private static long key(PciId id) {
            return word(id.vendor()) << 48
                    | word(id.device()) << 32
                    | word(id.subVendor()) << 16
                    | word(id.subDevice());
        }

        private static long word(int id) {
            return id & 0xffffL;
        }
    }
}
