package org.ep4j.topology;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Best ways in the graph of links: breadth first from one device, as NCCL searches ({@code graph/paths.cc}). Nothing is
 * routed through a NIC, and through a GPU only from GPU link to GPU link. The port of a NIC counts as the last link of every way to it.
 */
final class DistanceSearch {
    /** A device and itself. */
    static final Distance SELF = new Distance(PathType.LOC, LinkBandwidths.UNLIMITED, 0);

    private DistanceSearch() {}

    /** From one part, with ways through another GPU where GPU links are nearer than anything else. */
    static Map<Part, Distance> from(Topology topology, Part base) {
        return from(topology, base, true);
    }

    /**
     * From one part.
     *
     * @param detours whether another GPU may pass on what is not for it ({@link PathType#NVB})
     */
    static Map<Part, Distance> from(Topology topology, Part base, boolean detours) {
        SearchGraph graph = topology.ways();
        int start = graph.number(base);
        if (start < 0) {
            return new HashMap<>();
        }
        @Nullable Distance[] best = search(graph, start);
        if (detours && base instanceof Gpu) {
            throughAnotherGpu(graph, start, best);
        }
        Map<Part, Distance> found = new HashMap<>();
        for (int part = 0; part < best.length; part++) {
            Distance distance = best[part];
            if (distance != null && part != start) {
                found.put(graph.part(part), distance);
            }
        }
        return base instanceof Gpu gpu ? CoherentPaths.correct(topology, gpu, found) : found;
    }

    private static @Nullable Distance[] search(SearchGraph graph, int start) {
        @Nullable Distance[] best = new Distance[graph.size()];
        Part base = graph.part(start);
        best[start] = new Distance(PathType.LOC, throughPort(SELF.gigabytesPerSecond(), base), 0);
        List<Integer> frontier = List.of(start);
        while (!frontier.isEmpty()) {
            List<Integer> next = new ArrayList<>();
            for (int number : frontier) {
                Part part = graph.part(number);
                Distance sofar = best[number];
                if (sofar == null || (number != start && (part instanceof Gpu || part instanceof Nic))) {
                    continue;
                }
                for (SearchGraph.Way way : graph.ways(number)) {
                    Distance candidate = step(sofar, part, graph.part(way.to()), way.link());
                    if (!twoNodes(sofar, part, way.link()) && better(candidate, best[way.to()])) {
                        best[way.to()] = candidate;
                        next.add(way.to());
                    }
                }
            }
            frontier = next;
        }
        return best;
    }

    /** As NCCL has it: the two links are direct ones, with no switch on the way. */
    private static void throughAnotherGpu(SearchGraph graph, int start, @Nullable Distance[] best) {
        for (SearchGraph.Way first : graph.ways(start)) {
            if (gpuLink(first.link()) && graph.part(first.to()) instanceof Gpu) {
                for (SearchGraph.Way second : graph.ways(first.to())) {
                    boolean end = second.to() != start && graph.part(second.to()) instanceof Gpu;
                    if (end && gpuLink(second.link())) {
                        Distance candidate = new Distance(
                                PathType.NVB,
                                Math.min(
                                        first.link().gigabytesPerSecond(),
                                        second.link().gigabytesPerSecond()),
                                2);
                        if (better(candidate, best[second.to()])) {
                            best[second.to()] = candidate;
                        }
                    }
                }
            }
        }
    }

    private static boolean gpuLink(Link link) {
        return link.type() == LinkType.NVLINK || link.type() == LinkType.XGMI;
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

    private static boolean better(Distance candidate, @Nullable Distance known) {
        if (known == null || candidate.type() != known.type()) {
            return known == null || candidate.type().compareTo(known.type()) < 0;
        }
        int width = Double.compare(candidate.gigabytesPerSecond(), known.gigabytesPerSecond());
        return width > 0 || (width == 0 && candidate.hops() < known.hops());
    }
}
