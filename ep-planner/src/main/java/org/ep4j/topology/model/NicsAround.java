package org.ep4j.topology.model;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.ep4j.topology.Distance;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;
import org.ep4j.topology.PathType;

/** The NICs of a host as one device sees them. */
final class NicsAround {
    /** NCCL's figures for the network of processors are of no use here: to the processor itself every NIC is near or far. */
    private static final Comparator<NicReach> NEAREST = Comparator.comparing(
                    (NicReach nic) -> nic.distance().type())
            .thenComparing(nic -> -nic.distance().gigabytesPerSecond());

    private final Topology topology;
    private final List<Nic> nics;
    private final int gidIndex;

    /** Places of the first NIC of a host with a name, a card, an address or a physical function. */
    private final Map<String, Integer> first = new HashMap<>();

    /**
     * NICs of a machine.
     *
     * @param gidIndex entry of tables of GIDs that a setting names; -1 for none
     */
    NicsAround(Topology topology, int gidIndex) {
        this.topology = topology;
        this.nics = topology.nics();
        this.gidIndex = gidIndex;
        for (int i = 0; i < nics.size(); i++) {
            Nic nic = nics.get(i);
            int place = i;
            Stream.of(
                            Stream.of("name " + nic.name(), "card " + nic.card()),
                            nic.address().stream().map(address -> "address " + address),
                            nic.physical().stream().map(address -> "physical " + address))
                    .flatMap(keys -> keys)
                    .forEach(key -> first.putIfAbsent(nic.host() + " " + key, place));
        }
    }

    List<NicReach> of(Gpu gpu, Map<Part, Distance> reach) {
        List<NicReach> found = new ArrayList<>();
        for (Nic nic : nics) {
            Distance distance = reach.get(nic);
            if (nic.leavesHost() && nic.host() == gpu.host() && distance != null) {
                Optional<Boolean> direct = gpu.gpuDirect()
                        .flatMap(g -> nic.gpuDirect().map(n -> g && n))
                        .or(() -> gpu.gpuDirect().filter(g -> !g))
                        .or(() -> nic.gpuDirect().filter(n -> !n));
                found.add(reach(nic, distance, direct));
            }
        }
        found.sort(NEAREST);
        return List.copyOf(found);
    }

    List<NicReach> ofProcessor(int host, int numa) {
        List<NicReach> found = new ArrayList<>();
        for (Nic nic : nics) {
            if (nic.leavesHost() && nic.host() == host) {
                boolean far = numa >= 0 && nic.numa() >= 0 && nic.numa() != numa;
                Distance distance = new Distance(far ? PathType.SYS : PathType.PHB, nic.gigabitsPerSecond() / 8, 1);
                found.add(reach(nic, distance, Optional.empty()));
            }
        }
        found.sort(NEAREST);
        return List.copyOf(found);
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
        String card = nic.card().isEmpty()
                ? ""
                : first(nic, Stream.of("card " + nic.card())).name();
        String function = first(nic, functions(nic)).name();
        NicReach.Builder reach = NicReach.builder(nic.name(), nic.family(), distance)
                .card(card)
                .function(function)
                .ports(ports)
                .obstacles(obstacles);
        direct.ifPresent(reach::gpuDirect);
        return reach.build();
    }

    private static double rate(Nic nic, NicPort port) {
        boolean told = port.gigabitsPerSecond() > 0 || nic.family() != NicFamily.EFA;
        return told ? port.gigabitsPerSecond() : efaRate(nic.id());
    }

    /** Cards are named by their first device: what names them on the machine, such as a GUID, is another on every host. */
    private Nic first(Nic nic, Stream<String> keys) {
        return keys.flatMap(key -> Optional.ofNullable(first.get(nic.host() + " " + key)).stream())
                .min(Comparator.naturalOrder())
                .map(nics::get)
                .orElse(nic);
    }

    /** Keys of the devices that share ports with one, as {@link Nic#sharesPorts} has them. */
    private static Stream<String> functions(Nic nic) {
        Stream<String> physical =
                nic.physical().stream().flatMap(address -> Stream.of("physical " + address, "address " + address));
        Stream<String> virtual = nic.address().stream().map(address -> "physical " + address);
        return Stream.concat(Stream.of("name " + nic.name()), Stream.concat(physical, virtual));
    }

    /**
     * Gigabits a second of AWS's Elastic Fabric Adapters, which few sources tell, by PCI device id; 0 when the id is not known
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
