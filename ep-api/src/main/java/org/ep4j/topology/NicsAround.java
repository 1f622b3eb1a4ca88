package org.ep4j.topology;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The NICs of a host as one device sees them. */
final class NicsAround {
    /** NCCL's figures for the network of processors are of no use here: to the processor itself every NIC is near or far. */
    private static final Comparator<NicReach> NEAREST = Comparator.comparing(
                    (NicReach nic) -> nic.distance().type())
            .thenComparing(nic -> -nic.distance().gigabytesPerSecond());

    private NicsAround() {}

    static List<NicReach> gpu(Topology topology, Gpu gpu, Map<Part, Distance> reach) {
        List<NicReach> found = new ArrayList<>();
        for (Nic nic : topology.nics()) {
            Distance distance = reach.get(nic);
            if (nic.compute() && nic.host() == gpu.host() && distance != null) {
                Optional<Boolean> direct = gpu.gpuDirect()
                        .flatMap(g -> nic.gpuDirect().map(n -> g && n))
                        .or(() -> gpu.gpuDirect().filter(g -> !g))
                        .or(() -> nic.gpuDirect().filter(n -> !n));
                found.add(reach(topology, nic, distance, direct));
            }
        }
        found.sort(NEAREST);
        return List.copyOf(found);
    }

    static List<NicReach> processor(Topology topology, int host, int numa) {
        List<NicReach> found = new ArrayList<>();
        for (Nic nic : topology.nics()) {
            if (nic.compute() && nic.host() == host) {
                boolean far = numa >= 0 && nic.numa() >= 0 && nic.numa() != numa;
                Distance distance = new Distance(far ? PathType.SYS : PathType.PHB, nic.gigabitsPerSecond() / 8, 1);
                found.add(reach(topology, nic, distance, Optional.empty()));
            }
        }
        found.sort(NEAREST);
        return List.copyOf(found);
    }

    /** A source that lists no ports says nothing about them: one is taken, of unknown rate. */
    private static NicReach reach(Topology topology, Nic nic, Distance distance, Optional<Boolean> direct) {
        List<NicPort> listed = nic.ports().isEmpty() ? List.of(NicPort.of(1, 0)) : nic.ports();
        List<NicReach.Port> ports = listed.stream()
                .filter(port -> port.state() != NicPort.State.DOWN)
                .map(port -> new NicReach.Port(port.number(), port.linkLayer(), rate(nic, port), port.network()))
                .toList();
        return new NicReach(nic.name(), nic.family(), card(topology, nic), distance, direct, ports);
    }

    private static double rate(Nic nic, NicPort port) {
        boolean told = port.gigabitsPerSecond() > 0 || nic.family() != NicFamily.EFA;
        return told ? port.gigabitsPerSecond() : EfaRates.gigabits(nic.id());
    }

    /** Cards are named by their first device: what names them on the machine, such as a GUID, is another on every host. */
    private static String card(Topology topology, Nic nic) {
        if (nic.card().isEmpty()) {
            return "";
        }
        return topology.nics().stream()
                .filter(other -> other.host() == nic.host() && other.card().equals(nic.card()))
                .findFirst()
                .orElse(nic)
                .name();
    }
}
