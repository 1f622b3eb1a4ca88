package org.ep4j.topology;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.topology.NicReach.PortObstacle;

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

    /** RDMA ports from which this process cannot send, with the obstacles, for people; empty if there are none. */
    public String obstaclesText() {
        Map<PortObstacle, List<String>> ports = new EnumMap<>(PortObstacle.class);
        for (NicReach nic : nics) {
            if (nic.family().rdma()) {
                nic.obstacles()
                        .forEach((port, obstacle) -> ports.computeIfAbsent(obstacle, k -> new ArrayList<>())
                                .add(nic.name() + ":" + port));
            }
        }
        return ports.entrySet().stream()
                .map(entry -> shortened(entry.getValue()) + " (" + entry.getKey() + ")")
                .collect(Collectors.joining(", "));
    }

    /** {@link #obstaclesText} as the end of a message, {@code ; not usable: ...}; empty if there are none. */
    public String obstaclesSuffix() {
        String ports = obstaclesText();
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
    public Locality withUsablePorts() {
        return withNics(nics.stream()
                .filter(nic -> !nic.ports().isEmpty() || nic.obstacles().isEmpty())
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
     * Number of partitions of the GPU whose first partition has the index {@code ofCard}; if this device is one of
     * them, it is counted too. 1 if the GPU is not divided.
     */
    public int partitions(int ofCard) {
        return (int) peers.stream().filter(peer -> peer.card() == ofCard).count() + (card == ofCard ? 1 : 0);
    }

    /**
     * Returns a copy with at most {@code limit} processors, since a process may be limited to fewer than its host has.
     */
    public Locality withAtMostProcessors(int limit) {
        int fewer = processors > 0 ? Math.min(processors, limit) : limit;
        return new Locality(gpu, vendor, architecture, numa, gpus, peers, nics, fewer, card);
    }
}
