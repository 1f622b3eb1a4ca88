package org.ep4j.topology;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Best ways in the graph of links: breadth first from one device, as NCCL searches ({@code graph/paths.cc}). Nothing is
 * routed through a GPU or a NIC.
 */
final class DistanceSearch {
    /** A device and itself. */
    static final Distance SELF = new Distance(PathType.LOC, 5000, 0);

    private DistanceSearch() {}

    static Map<Part, Distance> from(Topology topology, Part base) {
        Map<Part, Distance> best = new HashMap<>();
        best.put(base, SELF);
        List<Part> frontier = List.of(base);
        while (!frontier.isEmpty()) {
            List<Part> next = new ArrayList<>();
            for (Part part : frontier) {
                if (!part.equals(base) && (part instanceof Gpu || part instanceof Nic)) {
                    continue;
                }
                for (Part neighbour : topology.neighbours(part)) {
                    for (Link link : topology.links(part, neighbour)) {
                        Distance candidate = step(best.getOrDefault(part, SELF), part, neighbour, link);
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
        return best;
    }

    private static Distance step(Distance sofar, Part from, Part to, Link link) {
        PathType type = switch (link.type()) {
            case NVLINK, XGMI -> PathType.NVL;
            case C2C -> PathType.C2C;
            case ROOT -> PathType.NODE;
            case CPU -> PathType.SYS;
            case PCI -> pci(from, to);
        };
        return new Distance(
                type.max(sofar.type()),
                Math.min(sofar.gigabytesPerSecond(), link.gigabytesPerSecond()),
                sofar.hops() + 1);
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

    private static boolean better(Distance candidate, @org.jspecify.annotations.Nullable Distance known) {
        if (known == null || candidate.type() != known.type()) {
            return known == null || candidate.type().compareTo(known.type()) < 0;
        }
        int width = Double.compare(candidate.gigabytesPerSecond(), known.gigabytesPerSecond());
        return width > 0 || (width == 0 && candidate.hops() < known.hops());
    }
}
