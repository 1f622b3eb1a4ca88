package org.ep4j.cli.topo;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.Distance;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Topology;

/**
 * The NICs nearest to a GPU, by path type and bandwidth of the way, among those of its host that carry traffic of applications.
 *
 * @param type their path type
 * @param nics the NICs in the order of the source
 */
record Nearest(PathType type, List<Nic> nics) {
    /** Returns the nearest NICs of every GPU that reaches one, as {@link Topology#nearestNics} gives them. */
    static Map<Gpu, Nearest> of(Topology topology) {
        Map<Gpu, Nearest> all = new LinkedHashMap<>();
        for (Gpu gpu : topology.gpus()) {
            List<Nic> nearest = topology.nearestNics(gpu);
            if (!nearest.isEmpty()) {
                Distance distance = topology.distances(gpu).get(nearest.get(0));
                all.put(gpu, new Nearest(distance == null ? PathType.SYS : distance.type(), nearest));
            }
        }
        return all;
    }
}
