package org.ep4j.engine.topology;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkBandwidths;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyCopy;

/** Adds to a machine what HIP tells. Devices are known by their addresses; those with an address that is not theirs alone stay. */
final class HipMerge {
    private HipMerge() {}

    static Topology merge(Topology topology, List<HipGpu> shown) {
        Map<Integer, Gpu> gpus = new HashMap<>();
        Map<Gpu, Gpu> changed = new HashMap<>();
        for (HipGpu hip : shown) {
            long sharing = shown.stream()
                    .filter(other -> other.address().equals(hip.address()))
                    .count();
            List<Gpu> found = topology.gpus().stream()
                    .filter(gpu ->
                            gpu.vendor() == GpuVendor.AMD && gpu.address().isPresent())
                    .filter(gpu -> gpu.address().equals(hip.address()))
                    .toList();
            if (sharing == 1 && found.size() == 1) {
                Gpu gpu = named(found.get(0), hip.name());
                changed.put(found.get(0), gpu);
                gpus.put(hip.ordinal(), gpu);
            }
        }
        Topology.Builder builder = TopologyCopy.of(
                topology, topology.source(), part -> part instanceof Gpu gpu ? changed.getOrDefault(gpu, gpu) : part);
        Topology known = builder.build();
        for (HipGpu hip : shown) {
            Gpu from = gpus.get(hip.ordinal());
            for (HipGpu.Way way : hip.links()) {
                Gpu to = gpus.get(way.to());
                if (from != null && to != null && way.xgmi() && !joined(known, from, to)) {
                    double bandwidth = LinkBandwidths.xgmi(from.architecture()) / way.hops();
                    builder.link(from, to, new Link(LinkType.XGMI, bandwidth, 1));
                }
            }
        }
        return builder.build();
    }

    private static boolean joined(Topology topology, Gpu a, Gpu b) {
        // Partitions are joined by the fabric of their packages.
        return topology.distance(a, b)
                .filter(way -> way.type() == PathType.NVL || way.type() == PathType.NVB)
                .isPresent();
    }

    private static Gpu named(Gpu old, String name) {
        return new Gpu(
                old.host(),
                old.index(),
                old.name(),
                old.address(),
                old.id(),
                old.vendor(),
                old.architecture(),
                old.model().isEmpty() ? name : old.model(),
                old.numa(),
                old.gpuDirect(),
                old.clique(),
                old.card());
    }
}
