package org.ep4j.topology;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

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
 * @param card index of the first partition of the GPU that the device is a partition of; its own where GPUs are not divided
 */
public record Locality(
        int gpu,
        GpuVendor vendor,
        String architecture,
        int numa,
        int gpus,
        List<GpuPeer> peers,
        List<NicReach> nics,
        int processors,
        int card) {
    /** Ports that messages name at most. */
    private static final int NAMED = 8;

    /** Nothing known, as on machines whose topology cannot be read. */
    public static final Locality UNKNOWN = new Locality(-1, GpuVendor.OTHER, "", -1, 0, List.of(), List.of());

    /** Creates a locality on a host whose processors are not known. */
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

    /** Creates a locality of a GPU that is not divided into partitions. */
    public Locality(
            int gpu,
            GpuVendor vendor,
            String architecture,
            int numa,
            int gpus,
            List<GpuPeer> peers,
            List<NicReach> nics,
            int processors) {
        this(gpu, vendor, architecture, numa, gpus, peers, nics, processors, gpu);
    }

    /** Copies the lists. */
    public Locality {
        peers = List.copyOf(peers);
        nics = List.copyOf(nics);
    }

    /** RDMA ports from which this process cannot send, with the reasons, for people; empty if there are none. */
    public String leftOut() {
        Map<PortObstacle, List<String>> ports = new EnumMap<>(PortObstacle.class);
        for (NicReach nic : nics) {
            if (nic.family().rdma()) {
                nic.leftOut()
                        .forEach((port, obstacle) -> ports.computeIfAbsent(obstacle, k -> new ArrayList<>())
                                .add(nic.name() + ":" + port));
            }
        }
        return ports.entrySet().stream()
                .map(entry -> shortened(entry.getValue()) + " (" + entry.getKey() + ")")
                .collect(Collectors.joining(", "));
    }

    /** {@link #leftOut} as the end of a message, {@code ; not usable: ...}; empty if no port is left out. */
    public String butLeftOut() {
        String ports = leftOut();
        return ports.isEmpty() ? "" : "; not usable: " + ports;
    }

    /** A host may have hundreds of virtual functions. */
    private static String shortened(List<String> names) {
        return names.size() <= NAMED
                ? String.join(", ", names)
                : String.join(", ", names.subList(0, NAMED)) + " and " + (names.size() - NAMED) + " more";
    }

    /**
     * Returns a copy without ports from which this process cannot send, since such ports may differ between hosts that
     * are otherwise alike.
     */
    public Locality usable() {
        return withNics(nics.stream()
                .filter(nic -> !nic.ports().isEmpty() || nic.leftOut().isEmpty())
                .map(nic -> nic.withPorts(nic.ports(), Map.of()))
                .toList());
    }

    /** Returns a copy with another architecture of the GPU. */
    public Locality withArchitecture(String other) {
        return new Locality(gpu, vendor, other, numa, gpus, peers, nics, processors, card);
    }

    /** Returns a copy with other ways to the other GPUs of the host. */
    public Locality withPeers(List<GpuPeer> other) {
        return new Locality(gpu, vendor, architecture, numa, gpus, other, nics, processors, card);
    }

    /** Returns a copy with other NICs. */
    public Locality withNics(List<NicReach> other) {
        return new Locality(gpu, vendor, architecture, numa, gpus, peers, other, processors, card);
    }

    /** The other GPU whose index is {@code index}; empty if it cannot be reached. */
    public Optional<GpuPeer> peer(int index) {
        for (GpuPeer peer : peers) {
            if (peer.gpu() == index) {
                return Optional.of(peer);
            }
        }
        return Optional.empty();
    }

    /**
     * The machine around a GPU; the GIDs to send from are chosen by the rules of {@link GidChoice}, not by a setting.
     */
    public static Locality of(Topology topology, Gpu gpu) {
        return of(topology, gpu, -1);
    }

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
        // GPU between, and
        // what is mapped goes over PCIe.
        boolean relays = gpu.vendor() != GpuVendor.AMD
                && !topology.stated()
                && reach.values().stream().anyMatch(distance -> distance.type() == PathType.NVB);
        Map<Part, Distance> mapped = relays ? DistanceSearch.withoutRelays(topology, gpu) : reach;
        for (Gpu other : gpus) {
            Distance distance = mapped.get(other);
            if (distance != null && !other.equals(gpu)) {
                List<Integer> via = distance.type() == PathType.NVB ? via(topology, gpu, other) : List.of();
                peers.add(new GpuPeer(
                        other.index(),
                        cards.getOrDefault(other.card(), other.index()),
                        distance,
                        link(topology, gpu, distance),
                        via));
            }
        }
        return new Locality(
                gpu.index(),
                gpu.vendor(),
                gpu.architecture(),
                gpu.numa(),
                gpus.size(),
                peers,
                new NicsAround(topology, gidIndex).of(gpu, reach),
                processors(topology, gpu.host()) / gpus.size(),
                cards.getOrDefault(gpu.card(), gpu.index()));
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

    /**
     * Number of partitions of the GPU whose first partition has the index {@code ofCard}; if this device is one of
     * them, it is counted too. 1 if the GPU is not divided.
     */
    public int partitions(int ofCard) {
        return (int) peers.stream().filter(peer -> peer.card() == ofCard).count() + (card == ofCard ? 1 : 0);
    }

    private static int processors(Topology topology, int host) {
        return topology.numaNodes().stream()
                .filter(node -> node.host() == host)
                .mapToInt(NumaNode::processors)
                .sum();
    }

    /**
     * Returns a copy with at most {@code limit} processors, since a process may be limited to fewer than its host has.
     */
    public Locality within(int limit) {
        int fewer = processors > 0 ? Math.min(processors, limit) : limit;
        return new Locality(gpu, vendor, architecture, numa, gpus, peers, nics, fewer, card);
    }

    /**
     * The machine around the processor; the GIDs to send from are chosen by the rules of {@link GidChoice}, not by a
     * setting.
     */
    public static Locality ofHost(Topology topology, int host, int numa) {
        return ofHost(topology, host, numa, -1);
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
        return new Locality(
                -1,
                GpuVendor.OTHER,
                "",
                numa,
                gpus,
                List.of(),
                new NicsAround(topology, gidIndex).ofProcessor(host, numa));
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
