package org.ep4j.topology;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What planning knows of the machine around one device. The values say nothing about which host it is, so ranks at the
 * same place of equal hosts have equal values.
 *
 * @param gpu index of the GPU on its host; -1 for the host device
 * @param vendor who made the GPU
 * @param architecture {@code sm_90}, {@code gfx942}; empty for the host device or when unknown
 * @param numa NUMA node; -1 when unknown
 * @param gpus number of GPUs on the host
 * @param peers other GPUs of the host that it can reach, by index
 * @param nics NICs of the host that carry traffic of applications, nearest first
 * @param processors hardware threads that the device has to itself where every GPU of its host is used: all of the host divided by
 *     its GPUs; 0 when unknown
 */
public record Locality(
        int gpu,
        GpuVendor vendor,
        String architecture,
        int numa,
        int gpus,
        List<GpuPeer> peers,
        List<NicReach> nics,
        int processors) {
    /** Nothing known, as on machines whose topology cannot be read. */
    public static final Locality UNKNOWN = new Locality(-1, GpuVendor.OTHER, "", -1, 0, List.of(), List.of());

    /** On a host whose processors are not known. */
    public Locality(
            int gpu,
            GpuVendor vendor,
            String architecture,
            int numa,
            int gpus,
            List<GpuPeer> peers,
            List<NicReach> nics) {
        this(gpu, vendor, architecture, numa, gpus, peers, nics, 0);
    }

    /** Copies the lists. */
    public Locality {
        peers = List.copyOf(peers);
        nics = List.copyOf(nics);
    }

    /** The same with other NICs. */
    public Locality withNics(List<NicReach> other) {
        return new Locality(gpu, vendor, architecture, numa, gpus, peers, other, processors);
    }

    /** The other GPU with an index, when it can be reached. */
    public Optional<GpuPeer> peer(int index) {
        return peers.stream().filter(peer -> peer.gpu() == index).findFirst();
    }

    /** Around a GPU. */
    public static Locality of(Topology topology, Gpu gpu) {
        Map<Part, Distance> reach = topology.reach(gpu);
        List<Gpu> gpus = topology.gpus().stream()
                .filter(other -> other.host() == gpu.host())
                .toList();
        int partitions = topology.partitions(gpu).size();
        // All partitions of a GPU send by its links at once, and each to all partitions of the others: what it has is
        // its part
        // of all links, whichever peer it sends to, as with a switch.
        Distance share =
                new Distance(PathType.NVL, topology.gpuLinks(gpu, LinkType.XGMI).gigabytesPerSecond() / partitions, 2);
        List<GpuPeer> peers = new ArrayList<>();
        for (Gpu other : gpus) {
            Distance distance = reach.get(other);
            if (distance != null && !other.equals(gpu)) {
                boolean shared = partitions > 1
                        && distance.type() == PathType.NVL
                        && share.gigabytesPerSecond() > 0
                        && !Topology.samePackage(gpu, other);
                peers.add(new GpuPeer(other.index(), shared ? share : distance, link(topology, gpu, distance)));
            }
        }
        return new Locality(
                gpu.index(),
                gpu.vendor(),
                gpu.architecture(),
                gpu.numa(),
                gpus.size(),
                peers,
                NicsAround.gpu(topology, gpu, reach),
                processors(topology, gpu.host()) / gpus.size());
    }

    private static int processors(Topology topology, int host) {
        return topology.numaNodes().stream()
                .filter(node -> node.host() == host)
                .mapToInt(NumaNode::processors)
                .sum();
    }

    /** The same with no more than so many processors, as a process may be kept to fewer than its host has. */
    public Locality within(int limit) {
        return new Locality(
                gpu,
                vendor,
                architecture,
                numa,
                gpus,
                peers,
                nics,
                processors > 0 ? Math.min(processors, limit) : limit);
    }

    /** Around the processor: NICs of its NUMA node are near, others far; all are near when {@code numa} is -1. */
    public static Locality ofHost(Topology topology, int host, int numa) {
        int gpus =
                (int) topology.gpus().stream().filter(gpu -> gpu.host() == host).count();
        return new Locality(-1, GpuVendor.OTHER, "", numa, gpus, List.of(), NicsAround.processor(topology, host, numa));
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
