package org.ep4j.cli.topo;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.Distance;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.Nic;
import org.ep4j.topology.PathType;
import org.ep4j.topology.Topology;

/**
 * The NICs nearest to a GPU, those of {@link Topology#nearestNics}.
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
            List<Nic> nics = topology.nearestNics(gpu);
            Optional<Distance> distance = nics.stream().findFirst().flatMap(nic -> topology.distance(gpu, nic));
            distance.ifPresent(found -> all.put(gpu, new Nearest(found.type(), nics)));
        }
        return all;
    }
}
