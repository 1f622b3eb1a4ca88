package org.ep4j.gpu.topology;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.gpu.hip.HipGpus;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.TopologySource;

/**
 * Source of names of AMD's GPUs, and of xGMI links that KFD does not report: HIP, which is not loaded on machines without
 * such GPUs, because a query initialises it.
 */
public final class HipSource implements TopologySource {
    @Override
    public String id() {
        return "hip";
    }

    @Override
    public Topology refine(Topology topology) {
        if (topology.gpus().stream().noneMatch(gpu -> gpu.vendor() == GpuVendor.AMD)) {
            return topology;
        }
        try {
            List<VisibleGpu> gpus = HipGpus.list();
            return gpus.isEmpty() ? topology : merge(topology, gpus);
        } catch (RuntimeException | LinkageError e) {
            return topology.withWarnings(List.of("HIP could not be used: " + e.getMessage()));
        }
    }

    /** Adds the facts of HIP. Devices are identified by their addresses; those that share an address stay as they are. */
    static Topology merge(Topology topology, List<VisibleGpu> shown) {
        Map<Integer, Gpu> gpus = new HashMap<>();
        Map<Gpu, Gpu> changed = new HashMap<>();
        for (VisibleGpu hip : shown) {
            long sharing = shown.stream()
                    .filter(other -> other.address().equals(hip.address()))
                    .count();
            List<Gpu> found = topology.gpus().stream()
                    .filter(gpu ->
                            gpu.vendor() == GpuVendor.AMD && gpu.address().isPresent())
                    .filter(gpu -> gpu.address().equals(hip.address()))
                    .toList();
            if (sharing == 1 && found.size() == 1) {
                Gpu old = found.get(0);
                Gpu gpu = old.model().isEmpty()
                        ? old.toBuilder().model(hip.name().strip()).build()
                        : old;
                changed.put(old, gpu);
                gpus.put(hip.ordinal(), gpu);
            }
        }
        Topology.Builder builder = topology.copy(
                topology.source(),
                part -> Optional.of(part instanceof Gpu gpu ? changed.getOrDefault(gpu, gpu) : part));
        Topology known = builder.build();
        for (VisibleGpu hip : shown) {
            Gpu from = gpus.get(hip.ordinal());
            hip.peers().forEach((other, way) -> {
                Gpu to = gpus.get(other);
                // Both ends name a link.
                boolean first = hip.ordinal() < other;
                if (first && from != null && to != null && way.linked() && !joined(known, from, to)) {
                    double bandwidth = LinkBandwidths.xgmi(from.architecture()) / way.hops();
                    builder.link(from, to, new Link(LinkType.XGMI, bandwidth, 1));
                }
            });
        }
        return builder.build();
    }

    private static boolean joined(Topology topology, Gpu a, Gpu b) {
        // Partitions are joined by the fabric of their packages.
        return topology.distance(a, b)
                .filter(way -> way.type() == PathType.NVL || way.type() == PathType.NVB)
                .isPresent();
    }
}
