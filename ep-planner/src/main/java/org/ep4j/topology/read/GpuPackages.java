package org.ep4j.topology.read;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;

/**
 * Links between GPUs some of which are partitions. The links of a package are those of all its partitions together, while
 * sources list every pair of partitions as if it had links of its own.
 */
final class GpuPackages {
    private final Topology.Builder topology;
    private final Map<Set<Part>, Link> between = new LinkedHashMap<>();
    private final Map<Gpu, GpuSwitch> inside = new LinkedHashMap<>();

    GpuPackages(Topology.Builder topology, List<Gpu> gpus) {
        this.topology = topology;
        for (Gpu gpu : gpus) {
            if (!gpu.card().isEmpty()) {
                GpuSwitch fabric = new GpuSwitch(gpu.host(), "package " + gpu.card());
                inside.put(gpu, fabric);
                topology.add(fabric).link(gpu, fabric, new Link(LinkType.XGMI, LinkBandwidths.INSIDE_PACKAGE, 1));
            }
        }
    }

    /** Joins two GPUs; what joins partitions of two packages counts once, and inside a package the package's own fabric does. */
    void join(Gpu a, Gpu b, Link link) {
        Part one = end(a);
        Part other = end(b);
        if (one.equals(other)) {
            return;
        }
        if (one.equals(a) && other.equals(b)) {
            topology.link(a, b, link);
        } else {
            between.merge(
                    new LinkedHashSet<>(List.of(one, other)),
                    link,
                    (known, added) -> known.gigabytesPerSecond() >= added.gigabytesPerSecond() ? known : added);
        }
    }

    /** Adds the links of packages. */
    void finish() {
        between.forEach((ends, link) -> {
            List<Part> both = List.copyOf(ends);
            topology.link(both.get(0), both.get(1), link);
        });
    }

    private Part end(Gpu gpu) {
        GpuSwitch fabric = inside.get(gpu);
        return fabric == null ? gpu : fabric;
    }
}
