package org.ep4j.topology.model;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.topology.Distance;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;

/**
 * Ways from a GPU that has a coherent link to its processor (Grace Hopper, Grace Blackwell) to the NICs of that processor.
 * They go over the coherent link and then over PCIe, which is better than a way through a host bridge on both sides. NCCL
 * calls them P2C and grants them to the widest NICs of that processor only ({@code graph/paths.cc}).
 */
final class CoherentPaths {
    private CoherentPaths() {}

    static Map<Part, Distance> correct(Topology topology, Gpu gpu, Map<Part, Distance> best) {
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
        return best.getOrDefault(nic, DistanceSearch.SELF).gigabytesPerSecond();
    }
}
