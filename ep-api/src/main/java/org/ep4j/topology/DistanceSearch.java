package org.ep4j.topology;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Best ways in the graph of links: breadth first from one device, as NCCL searches ({@code graph/paths.cc}). Nothing is
 * routed through a GPU or a NIC. The port of a NIC counts as the last link of every way to it.
 */
final class DistanceSearch {
    /** A device and itself. */
    static final Distance SELF = new Distance(PathType.LOC, LinkBandwidths.UNLIMITED, 0);

    private DistanceSearch() {}

    static Map<Part, Distance> from(Topology topology, Part base) {
        Map<Part, Distance> best = new HashMap<>();
        best.put(base, new Distance(PathType.LOC, throughPort(SELF.gigabytesPerSecond(), base), 0));
        List<Part> frontier = List.of(base);
        while (!frontier.isEmpty()) {
            List<Part> next = new ArrayList<>();
            for (Part part : frontier) {
                if (!part.equals(base) && (part instanceof Gpu || part instanceof Nic)) {
                    continue;
                }
                Distance sofar = best.getOrDefault(part, SELF);
                for (Part neighbour : topology.neighbours(part)) {
                    if (noBetter(sofar, best.get(neighbour))) {
                        continue;
                    }
                    for (Link link : topology.links(part, neighbour)) {
                        Distance candidate = step(sofar, part, neighbour, link);
                        if (!twoNodes(sofar, part, link) && better(candidate, best.get(neighbour))) {
                            best.put(neighbour, candidate);
                            next.add(neighbour);
                        }
                    }
                }
            }
            frontier = next;
        }
        best.remove(base);
        return base instanceof Gpu gpu ? CoherentPaths.correct(topology, gpu, best) : best;
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
     * source cannot tell to which of them it belongs; that makes it no link between them.
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
}
