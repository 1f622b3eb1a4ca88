package org.ep4j.cli.topo;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
 * A part with what hangs below it on the way to its processor.
 *
 * @param part the part
 * @param up the link to what it hangs on; empty at the top and where the source gives no links
 * @param children what hangs on it, in the order of the source
 */
record Branch(Part part, Optional<Link> up, List<Branch> children) {
    /**
     * The trees of one host: its NUMA nodes, then what no link joins with any of them. Every part of the host is in
     * exactly one place, but for the switches between GPUs, which hang on nothing.
     */
    static List<Branch> ofHost(Topology topology, int host) {
        Growth growth = new Growth(topology, host);
        growth.growFrom(growth.all(NumaNode.class));
        growth.adoptByNuma();
        growth.plant(part -> !(part instanceof Gpu) && !(part instanceof Nic));
        growth.plant(part -> true);
        return growth.trees();
    }

    /** This part and all below it. */
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

    /** Trees while they grow. */
    private static final class Growth {
        private record Stem(Optional<Link> up, List<Part> below) {}

        private static final Stem BARE = new Stem(Optional.empty(), List.of());

        private final Topology topology;
        private final List<Part> parts;
        private final Map<Part, Integer> order = new LinkedHashMap<>();
        private final Map<Part, Stem> stems = new LinkedHashMap<>();
        private final List<Part> tops = new ArrayList<>();

        /** Searched once for each GPU: there may be as many NICs without a place. */
        private final Map<Part, Map<Part, Distance>> reach = new HashMap<>();

        Growth(Topology topology, int host) {
            this.topology = topology;
            parts = topology.parts().stream()
                    .filter(part -> part.host() == host && !(part instanceof GpuSwitch))
                    .toList();
            for (Part part : parts) {
                order.put(part, order.size());
            }
        }

        List<Part> all(Class<? extends Part> kind) {
            return parts.stream().filter(kind::isInstance).toList();
        }

        void growFrom(Collection<? extends Part> roots) {
            Deque<Part> frontier = new ArrayDeque<>();
            for (Part root : roots) {
                if (stems.putIfAbsent(root, new Stem(Optional.empty(), new ArrayList<>())) == null) {
                    tops.add(root);
                    frontier.add(root);
                }
            }
            while (!frontier.isEmpty()) {
                Part part = frontier.poll();
                for (Part neighbour : topology.neighbours(part).stream()
                        .filter(order::containsKey)
                        .sorted(Comparator.comparing(order::get))
                        .toList()) {
                    tree(part, neighbour).ifPresent(link -> {
                        if (hang(neighbour, part, Optional.of(link))) {
                            frontier.add(neighbour);
                        }
                    });
                }
            }
        }

        private Optional<Link> tree(Part a, Part b) {
            return topology.links(a, b).stream()
                    .filter(link -> link.type() == LinkType.PCI || link.type() == LinkType.ROOT)
                    .findFirst();
        }

        private boolean hang(Part part, Part on, Optional<Link> link) {
            if (stems.putIfAbsent(part, new Stem(link, new ArrayList<>())) != null) {
                return false;
            }
            stem(on).below().add(part);
            return true;
        }

        /** Devices without a PCI link go where their NUMA node is, as in matrices as text. */
        void adoptByNuma() {
            for (Part part : parts) {
                int numa = part instanceof Gpu gpu ? gpu.numa() : part instanceof Nic nic ? numa(nic) : -1;
                if (!stems.containsKey(part) && numa >= 0) {
                    tops.stream()
                            .filter(top -> top instanceof NumaNode node && node.number() == numa)
                            .findFirst()
                            .ifPresent(node -> hang(part, node, Optional.empty()));
                }
            }
        }

        /** What is nearer to a GPU than another NUMA node is on the same. */
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

        void plant(java.util.function.Predicate<Part> which) {
            for (Part part : parts) {
                if (!stems.containsKey(part) && which.test(part)) {
                    growFrom(List.of(part));
                }
            }
        }

        private Stem stem(Part part) {
            return stems.getOrDefault(part, BARE);
        }

        List<Branch> trees() {
            Map<Part, Branch> done = new LinkedHashMap<>();
            List<Part> deepestLast = new ArrayList<>(tops);
            for (int i = 0; i < deepestLast.size(); i++) {
                deepestLast.addAll(stem(deepestLast.get(i)).below());
            }
            for (int i = deepestLast.size() - 1; i >= 0; i--) {
                Part part = deepestLast.get(i);
                Stem stem = stem(part);
                done.put(
                        part,
                        new Branch(
                                part,
                                stem.up(),
                                stem.below().stream().map(done::get).toList()));
            }
            return tops.stream().map(done::get).toList();
        }
    }
}
