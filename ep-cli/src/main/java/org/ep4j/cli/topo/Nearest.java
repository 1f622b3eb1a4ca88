package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.Distance;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.Nic;
import org.ep4j.topology.Part;
import org.ep4j.topology.PathType;
import org.ep4j.topology.Topology;

/**
 * The NICs nearest to a GPU, by path type, among those of its host that carry traffic of applications.
 *
 * @param type their path type
 * @param nics the NICs in the order of the source
 */
record Nearest(PathType type, List<Nic> nics) {
    Nearest {
        nics = List.copyOf(nics);
    }

    /** For every GPU that reaches a NIC. */
    static Map<Gpu, Nearest> of(Topology topology) {
        Map<Gpu, Nearest> all = new LinkedHashMap<>();
        for (Gpu gpu : topology.gpus()) {
            Map<Part, Distance> reach = topology.distances(gpu);
            PathType best = PathType.SYS;
            List<Nic> found = new ArrayList<>();
            for (Nic nic : topology.nics()) {
                Distance distance = reach.get(nic);
                if (distance == null || !nic.compute() || nic.host() != gpu.host()) {
                    continue;
                }
                if (distance.type().compareTo(best) < 0) {
                    best = distance.type();
                    found.clear();
                }
                if (distance.type() == best) {
                    found.add(nic);
                }
            }
            if (!found.isEmpty()) {
                all.put(gpu, new Nearest(best, found));
            }
        }
        return all;
    }
}
