package org.ep4j.topology.model;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.topology.Distance;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.jspecify.annotations.Nullable;

/**
 * Best ways in the graph of links: breadth first from one device, as NCCL searches ({@code graph/paths.cc}). Nothing is
 * routed through a NIC, and through a GPU only from one of its neighbours by GPU links to another. The port of a NIC counts as
 * the last link of every way to it.
 */
final class DistanceSearch {
    static final Distance SELF = new Distance(PathType.LOC, LinkBandwidths.UNLIMITED, 0);

    private DistanceSearch() {}

    static Map<Part, Distance> from(Topology topology, Part base) {
        return from(topology, base, true);
    }

    /** As {@link #from(Topology, Part)}, but GPUs relay nothing. */
    static Map<Part, Distance> withoutRelays(Topology topology, Part base) {
        return from(topology, base, false);
    }

    private static Map<Part, Distance> from(Topology topology, Part base, boolean relays) {
        Map<Part, Distance> best = new HashMap<>();
        best.put(base, new Distance(PathType.LOC, throughPort(SELF.gigabytesPerSecond(), base), 0));
        List<Part> frontier = List.of(base);
        while (!frontier.isEmpty()) {
            List<Part> next = new ArrayList<>();
            for (Part part : frontier) {
                Distance sofar = best.getOrDefault(part, SELF);
                boolean end = !part.equals(base) && (part instanceof Gpu || part instanceof Nic);
                boolean relay = end && relays && isRelay(base, part, sofar);
                if (end && !relay) {
                    continue;
                }
                for (Part neighbour : topology.neighbours(part)) {
                    if (noBetter(sofar, best.get(neighbour))) {
                        continue;
                    }
                    for (Link link : topology.links(part, neighbour)) {
                        if (twoNodes(sofar, part, link) || (relay && !isGpuLink(link, neighbour))) {
                            continue;
                        }
                        Distance step = step(sofar, part, neighbour, link);
                        Distance candidate =
                                relay ? new Distance(PathType.NVB, step.gigabytesPerSecond(), step.hops()) : step;
                        if (better(candidate, best.get(neighbour))) {
                            best.put(neighbour, candidate);
                            next.add(neighbour);
                        }
                    }
                }
            }
            frontier = next;
        }
        best.remove(base);
        return base instanceof Gpu gpu ? viaProcessor(topology, gpu, best) : best;
    }

    private static Distance step(Distance sofar, Part from, Part to, Link link) {
        PathType type = switch (link.type()) {
            case NVLINK, XGMI -> PathType.NVL;
            case C2C -> PathType.C2C;
            case ROOT -> PathType.NODE;
            case CPU -> PathType.SYS;
            case PCI -> pci(from, to);
        };
        double width = Math.min(sofar.gigabytesPerSecond(), link.gigabytesPerSecond());
        return new Distance(type.max(sofar.type()), throughPort(width, to), sofar.hops() + 1);
    }

    /** True for a neighbour of a GPU by links of their own: what it passes on makes two links, and no more are taken. */
    private static boolean isRelay(Part base, Part part, Distance sofar) {
        return base instanceof Gpu && part instanceof Gpu && sofar.type() == PathType.NVL && sofar.hops() == 1;
    }

    private static boolean isGpuLink(Link link, Part to) {
        return to instanceof Gpu && (link.type() == LinkType.NVLINK || link.type() == LinkType.XGMI);
    }

    private static PathType pci(Part from, Part to) {
        if (root(from) || root(to)) {
            return PathType.PHB;
        }
        return from instanceof PciSwitch && to instanceof PciSwitch ? PathType.PXB : PathType.PIX;
    }

    private static boolean root(Part part) {
        return part instanceof HostBridge || part instanceof NumaNode;
    }

    /**
     * True for a way from one NUMA node through a host bridge to another node. A bridge has several nodes where the
     * source does not say to which of them it belongs; that makes it no link between them.
     */
    private static boolean twoNodes(Distance sofar, Part from, Link link) {
        return from instanceof HostBridge
                && link.type() == LinkType.ROOT
                && sofar.type().compareTo(PathType.NODE) >= 0;
    }

    private static double throughPort(double width, Part part) {
        double rate = part instanceof Nic nic ? nic.gigabitsPerSecond() / 8 : 0;
        return rate > 0 ? Math.min(width, rate) : width;
    }

    /** True when a longer way cannot be better than a known one: types and widths only get worse on the way. */
    private static boolean noBetter(Distance sofar, @Nullable Distance known) {
        return known != null
                && !better(new Distance(sofar.type(), sofar.gigabytesPerSecond(), sofar.hops() + 1), known);
    }

    private static boolean better(Distance candidate, @Nullable Distance known) {
        if (known == null || candidate.type() != known.type()) {
            return known == null || candidate.type().compareTo(known.type()) < 0;
        }
        int width = Double.compare(candidate.gigabytesPerSecond(), known.gigabytesPerSecond());
        return width > 0 || (width == 0 && candidate.hops() < known.hops());
    }

    /**
     * Corrects ways from a GPU that has a coherent link to its processor (Grace Hopper, Grace Blackwell) to the NICs of that
     * processor. They go over the coherent link and then over PCIe, which is better than a way through a host bridge on both
     * sides. NCCL calls them P2C and grants them to the widest NICs of that processor only ({@code graph/paths.cc}).
     */
    private static Map<Part, Distance> viaProcessor(Topology topology, Gpu gpu, Map<Part, Distance> best) {
        Set<Integer> nodes = topology.neighbours(gpu).stream()
                .filter(part -> topology.links(gpu, part).stream().anyMatch(link -> link.type() == LinkType.C2C))
                .filter(NumaNode.class::isInstance)
                .map(part -> ((NumaNode) part).number())
                .collect(Collectors.toSet());
        if (nodes.isEmpty()) {
            return best;
        }
        List<Nic> near = topology.nics().stream()
                .filter(nic -> nic.host() == gpu.host() && nodes.contains(nic.numa()))
                .filter(nic -> viaRoot(best, nic))
                .toList();
        double widest = near.stream().mapToDouble(nic -> width(best, nic)).max().orElse(0);
        Map<Part, Distance> corrected = new HashMap<>(best);
        for (Nic nic : near) {
            if (width(best, nic) >= widest) {
                corrected.computeIfPresent(
                        nic, (part, far) -> new Distance(PathType.P2C, far.gigabytesPerSecond(), far.hops()));
            }
        }
        return corrected;
    }

    private static boolean viaRoot(Map<Part, Distance> best, Nic nic) {
        Distance distance = best.get(nic);
        return distance != null && (distance.type() == PathType.PHB || distance.type() == PathType.NODE);
    }

    private static double width(Map<Part, Distance> best, Nic nic) {
        return best.getOrDefault(nic, SELF).gigabytesPerSecond();
    }
}
