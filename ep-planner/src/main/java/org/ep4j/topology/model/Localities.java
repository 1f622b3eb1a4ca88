package org.ep4j.topology.model;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;

/** Finds the {@link Locality} of a device in a {@link Topology}. */
public final class Localities {
    private Localities() {}

    /**
     * The machine around a GPU.
     *
     * @param gidIndex entry of the tables of GIDs that ports are to send from; -1 for each port's own
     */
    public static Locality of(Topology topology, Gpu gpu, int gidIndex) {
        Map<Part, Distance> reach = topology.distances(gpu);
        List<Gpu> gpus = topology.gpus().stream()
                .filter(other -> other.host() == gpu.host())
                .toList();
        List<GpuPeer> peers = new ArrayList<>();
        Map<String, Integer> cards = cards(gpus);
        // AMD's fabric passes on what is for another GPU. NVLink does not: there NCCL copies through the memory of the
        // GPU between, and what is mapped goes over PCIe.
        boolean relays = gpu.vendor() != GpuVendor.AMD
                && !topology.stated()
                && reach.values().stream().anyMatch(distance -> distance.type() == PathType.NVB);
        Map<Part, Distance> mapped = relays ? DistanceSearch.withoutRelays(topology, gpu) : reach;
        for (Gpu other : gpus) {
            Distance distance = mapped.get(other);
            if (distance != null && !other.equals(gpu)) {
                List<Integer> via = distance.type() == PathType.NVB ? via(topology, gpu, other) : List.of();
                peers.add(GpuPeer.of(other.index(), distance, link(topology, gpu, distance))
                        .partOf(cards.getOrDefault(other.card(), other.index()))
                        .through(via));
            }
        }
        return Locality.builder()
                .gpu(gpu.index())
                .vendor(gpu.vendor())
                .architecture(gpu.architecture())
                .numa(gpu.numa())
                .gpus(gpus.size())
                .peers(peers)
                .nics(new NicsAround(topology, gidIndex).of(gpu, reach))
                .processors(processors(topology, gpu.host()) / gpus.size())
                .card(cards.getOrDefault(gpu.card(), gpu.index()))
                .build();
    }

    /**
     * The machine around the processor: NICs of its NUMA node are near, others far; all are near when {@code numa} is
     * -1.
     *
     * @param gidIndex entry of the tables of GIDs that ports are to send from; -1 for each port's own
     */
    public static Locality ofHost(Topology topology, int host, int numa, int gidIndex) {
        int gpus =
                (int) topology.gpus().stream().filter(gpu -> gpu.host() == host).count();
        return Locality.builder()
                .numa(numa)
                .gpus(gpus)
                .nics(new NicsAround(topology, gidIndex).ofProcessor(host, numa))
                .build();
    }

    /** Which GPUs are between, those with the widest links; the fabric's own choice is not known. */
    private static List<Integer> via(Topology topology, Gpu gpu, Gpu other) {
        Map<Integer, Double> widths = new TreeMap<>();
        for (Part part : topology.neighbours(gpu)) {
            if (part instanceof Gpu between && topology.neighbours(between).contains(other)) {
                widths.put(between.index(), Math.min(width(topology, gpu, between), width(topology, between, other)));
            }
        }
        double widest = widths.values().stream().max(Double::compare).orElse(0.0);
        return widths.keySet().stream()
                .filter(between -> widths.getOrDefault(between, 0.0) >= widest)
                .toList();
    }

    private static double width(Topology topology, Part one, Part other) {
        return topology.links(one, other).stream()
                .mapToDouble(Link::gigabytesPerSecond)
                .max()
                .orElse(0);
    }

    /** Index of the first partition of each GPU that is divided, by its card. */
    private static Map<String, Integer> cards(List<Gpu> gpus) {
        Map<String, Integer> cards = new HashMap<>();
        gpus.stream()
                .filter(gpu -> !gpu.card().isEmpty())
                .forEach(gpu -> cards.merge(gpu.card(), gpu.index(), Math::min));
        return cards;
    }

    private static int processors(Topology topology, int host) {
        return topology.numaNodes().stream()
                .filter(node -> node.host() == host)
                .mapToInt(NumaNode::processors)
                .sum();
    }

    private static LinkType link(Topology topology, Gpu gpu, Distance distance) {
        if (distance.type() != PathType.NVL && distance.type() != PathType.NVB) {
            return LinkType.PCI;
        }
        boolean xgmi = topology.neighbours(gpu).stream()
                .flatMap(part -> topology.links(gpu, part).stream())
                .anyMatch(link -> link.type() == LinkType.XGMI);
        return xgmi || gpu.vendor() == GpuVendor.AMD ? LinkType.XGMI : LinkType.NVLINK;
    }
}
