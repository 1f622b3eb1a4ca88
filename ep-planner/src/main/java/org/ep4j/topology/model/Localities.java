package org.ep4j.topology.model;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;
import org.ep4j.topology.PathType;

/** Finds the {@link Locality} of a device in a {@link Topology}. */
public final class Localities {
    private Localities() {}

    /**
     * Returns the locality of a GPU.
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
                .nics(new NicView(topology, gidIndex).of(gpu, reach))
                .processors(processors(topology, gpu.host()) / gpus.size())
                .card(cards.getOrDefault(gpu.card(), gpu.index()))
                .build();
    }

    /**
     * Returns the locality of the processor: NICs of its NUMA node are near, others far; all are near when {@code numa}
     * is -1.
     *
     * @param gidIndex entry of the tables of GIDs that ports are to send from; -1 for each port's own
     */
    public static Locality ofHost(Topology topology, int host, int numa, int gidIndex) {
        int gpus =
                (int) topology.gpus().stream().filter(gpu -> gpu.host() == host).count();
        return Locality.builder()
                .numa(numa)
                .gpus(gpus)
                .nics(new NicView(topology, gidIndex).ofProcessor(host, numa))
                .build();
    }

    /** GPUs between two others, those with the widest links; the fabric's own choice is not known. */
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

    /** The NICs of a host as one device sees them. */
    private static final class NicView {
        /** NCCL's figures for the network of processors are of no use here: to the processor itself every NIC is near or far. */
        private static final Comparator<NicReach> NEAREST = Comparator.comparing(
                        (NicReach nic) -> nic.distance().type())
                .thenComparing(nic -> -nic.distance().gigabytesPerSecond());

        private final Topology topology;
        private final List<Nic> nics;
        private final int gidIndex;

        /** Places of the first NIC of a host with a name, a card, an address or a physical function. */
        private final Map<String, Integer> first = new HashMap<>();

        NicView(Topology topology, int gidIndex) {
            this.topology = topology;
            this.nics = topology.nics();
            this.gidIndex = gidIndex;
            for (int i = 0; i < nics.size(); i++) {
                Nic nic = nics.get(i);
                int place = i;
                List<String> keys = new ArrayList<>(List.of("name " + nic.name(), "card " + nic.card()));
                nic.address().ifPresent(address -> keys.add("address " + address));
                nic.physical().ifPresent(address -> keys.add("physical " + address));
                keys.forEach(key -> first.putIfAbsent(nic.host() + " " + key, place));
            }
        }

        List<NicReach> of(Gpu gpu, Map<Part, Distance> reach) {
            return of(
                    gpu.host(),
                    nic -> Optional.ofNullable(reach.get(nic)),
                    nic -> gpu.gpuDirect()
                            .flatMap(g -> nic.gpuDirect().map(n -> g && n))
                            .or(() -> gpu.gpuDirect().filter(g -> !g))
                            .or(() -> nic.gpuDirect().filter(n -> !n)));
        }

        List<NicReach> ofProcessor(int host, int numa) {
            return of(
                    host,
                    nic -> {
                        boolean far = numa >= 0 && nic.numa() >= 0 && nic.numa() != numa;
                        return Optional.of(
                                new Distance(far ? PathType.SYS : PathType.PHB, nic.gigabitsPerSecond() / 8, 1));
                    },
                    nic -> Optional.empty());
        }

        private List<NicReach> of(
                int host, Function<Nic, Optional<Distance>> distance, Function<Nic, Optional<Boolean>> direct) {
            return nics.stream()
                    .filter(nic -> nic.leavesHost() && nic.host() == host)
                    .flatMap(nic -> distance.apply(nic).map(way -> reach(nic, way, direct.apply(nic))).stream())
                    .sorted(NEAREST)
                    .toList();
        }

        /** A source that lists no ports says nothing about them: one is taken, of unknown rate. */
        private NicReach reach(Nic nic, Distance distance, Optional<Boolean> direct) {
            List<NicReach.Port> ports = new ArrayList<>();
            Map<Integer, PortObstacle> obstacles = new TreeMap<>();
            for (NicPort port : nic.ports().isEmpty() ? List.of(NicPort.of(1, 0)) : nic.ports()) {
                topology.obstacle(nic, port, gidIndex)
                        .ifPresentOrElse(
                                obstacle -> obstacles.put(port.number(), obstacle),
                                () -> ports.add(new NicReach.Port(
                                        port.number(), port.linkLayer(), rate(nic, port), port.network(gidIndex))));
            }
            NicReach.Builder reach = NicReach.builder(nic.name(), nic.family(), distance)
                    .card(nic.card().isEmpty() ? "" : first(nic, List.of("card " + nic.card())))
                    .function(first(nic, functions(nic)))
                    .ports(ports)
                    .obstacles(obstacles);
            direct.ifPresent(reach::gpuDirect);
            return reach.build();
        }

        private static double rate(Nic nic, NicPort port) {
            boolean known = port.gigabitsPerSecond() > 0 || nic.family() != NicFamily.EFA;
            return known ? port.gigabitsPerSecond() : efaRate(nic.id());
        }

        /** Cards are named by their first device: what names them on the machine, such as a GUID, is another on every host. */
        private String first(Nic nic, List<String> keys) {
            return keys.stream()
                    .flatMap(key -> Optional.ofNullable(first.get(nic.host() + " " + key)).stream())
                    .min(Comparator.naturalOrder())
                    .map(nics::get)
                    .orElse(nic)
                    .name();
        }

        /** Keys of the devices that share ports with one, as {@link Nic#sharesPorts} has them. */
        private static List<String> functions(Nic nic) {
            List<String> keys = new ArrayList<>(List.of("name " + nic.name()));
            nic.physical().ifPresent(address -> keys.addAll(List.of("physical " + address, "address " + address)));
            nic.address().ifPresent(address -> keys.add("physical " + address));
            return keys;
        }

        /**
         * Gigabits a second of AWS's Elastic Fabric Adapters, which few sources give, by PCI device id; 0 when the id is not known
         * here: the network bandwidth of an instance over its number of adapters, as the EC2 documentation gives them (p4d 400
         * Gb/s over 4, p5 3200 over 32, p5en 3200 over 16, p6-b200 3200 over 8).
         */
        private static double efaRate(PciId id) {
            return switch (id.device()) {
                case 0xefa0, 0xefa1 -> 100;
                case 0xefa2 -> 200;
                case 0xefa3 -> 400;
                default -> 0;
            };
        }
    }
}
