package org.ep4j.cli.topo;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.ep4j.topology.Distance;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;

/**
 * A part of a host with the parts below it on their way to their processor.
 *
 * @param part the part
 * @param up the link to the part above; empty at the top and where the source gives no links
 * @param children the parts below, in the order of the source
 */
record Branch(Part part, Optional<Link> up, List<Branch> children) {
    /**
     * Returns the trees of one host: its NUMA nodes, then what no link joins with any of them. Every part of the host is in exactly
     * one place, but for the switches between GPUs, which are below nothing.
     */
    static List<Branch> ofHost(Topology topology, int host) {
        Builder builder = new Builder(topology, host);
        builder.addTrees(
                builder.parts.stream().filter(NumaNode.class::isInstance).toList());
        builder.addByNuma();
        builder.addOthers(part -> !(part instanceof Gpu) && !(part instanceof Nic));
        builder.addOthers(part -> true);
        return builder.roots;
    }

    /** Returns this part and all below it. */
    List<Branch> flat() {
        List<Branch> all = new ArrayList<>();
        Deque<Branch> open = new ArrayDeque<>(List.of(this));
        while (!open.isEmpty()) {
            Branch next = open.pop();
            all.add(next);
            for (int i = next.children.size() - 1; i >= 0; i--) {
                open.push(next.children.get(i));
            }
        }
        return all;
    }

    private static final class Builder {
        private final Topology topology;
        private final List<Part> parts;
        private final Map<Part, Integer> order = new HashMap<>();
        private final Set<Part> placed = new HashSet<>();
        private final List<Branch> roots = new ArrayList<>();

        /** Distances are searched once for each GPU: there may be as many NICs without a place. */
        private final Map<Part, Map<Part, Distance>> reach = new HashMap<>();

        Builder(Topology topology, int host) {
            this.topology = topology;
            parts = topology.parts().stream()
                    .filter(part -> part.host() == host && !(part instanceof GpuSwitch))
                    .toList();
            parts.forEach(part -> order.put(part, order.size()));
        }

        /** Adds trees with what PCI links join to their roots, the nearest first. */
        void addTrees(List<Part> tops) {
            Deque<Branch> open = new ArrayDeque<>();
            tops.forEach(top -> add(top, Optional.empty(), roots).ifPresent(open::add));
            while (!open.isEmpty()) {
                Branch branch = open.poll();
                topology.neighbours(branch.part).stream()
                        .filter(order::containsKey)
                        .sorted(Comparator.comparing(order::get))
                        .forEach(next -> pciLink(branch.part, next)
                                .flatMap(link -> add(next, Optional.of(link), branch.children))
                                .ifPresent(open::add));
            }
        }

        private Optional<Branch> add(Part part, Optional<Link> up, List<Branch> siblings) {
            if (!placed.add(part)) {
                return Optional.empty();
            }
            Branch branch = new Branch(part, up, new ArrayList<>());
            siblings.add(branch);
            return Optional.of(branch);
        }

        private Optional<Link> pciLink(Part a, Part b) {
            return topology.links(a, b).stream()
                    .filter(link -> link.type() == LinkType.PCI || link.type() == LinkType.ROOT)
                    .findFirst();
        }

        /** Adds devices without a PCI link to their NUMA node, as in matrices as text. */
        void addByNuma() {
            for (Part part : parts) {
                int numa = part instanceof Gpu gpu ? gpu.numa() : part instanceof Nic nic ? numa(nic) : -1;
                if (numa >= 0) {
                    roots.stream()
                            .filter(root -> root.part instanceof NumaNode node && node.number() == numa)
                            .findFirst()
                            .ifPresent(node -> add(part, Optional.empty(), node.children));
                }
            }
        }

        /** A NIC that is nearer to a GPU than another NUMA node is on the GPU's node. */
        private int numa(Nic nic) {
            if (nic.numa() >= 0) {
                return nic.numa();
            }
            return parts.stream()
                    .filter(part -> part instanceof Gpu gpu
                            && Optional.ofNullable(reach.computeIfAbsent(gpu, topology::distances)
                                            .get(nic))
                                    .filter(distance -> distance.type().compareTo(PathType.SYS) < 0)
                                    .isPresent())
                    .map(part -> ((Gpu) part).numa())
                    .findFirst()
                    .orElse(-1);
        }

        void addOthers(Predicate<Part> which) {
            for (Part part : parts) {
                if (which.test(part)) {
                    addTrees(List.of(part));
                }
            }
        }
    }
}
