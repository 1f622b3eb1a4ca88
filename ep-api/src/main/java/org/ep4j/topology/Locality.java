package org.ep4j.topology;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import org.apiguardian.api.API;
import org.ep4j.topology.NicReach.PortObstacle;

/**
 * The machine around one device, as planning sees it. The values say nothing about which host it is, so ranks at the same
 * position in equal hosts have equal values. Immutable.
 */
public sealed interface Locality {
    /** Locality of which nothing is known, as on machines whose topology cannot be read. */
    Locality UNKNOWN = builder().build();

    /** Starts the locality of a host device, of whose machine nothing is known. */
    static Builder builder() {
        return new Builder();
    }

    /** Returns a builder that starts with these properties; a GPU that is its own {@link #card} remains so under a new index. */
    default Builder toBuilder() {
        Builder builder = new Builder();
        builder.gpu = gpu();
        builder.vendor = vendor();
        builder.architecture = architecture();
        builder.numa = numa();
        builder.gpus = gpus();
        builder.peers = peers();
        builder.nics = nics();
        builder.processors = processors();
        builder.card = card() == gpu() ? OptionalInt.empty() : OptionalInt.of(card());
        return builder;
    }

    /** Index of the GPU on its host; -1 for the host device. */
    int gpu();

    /** Vendor of the GPU; {@link GpuVendor#OTHER} for the host device. */
    GpuVendor vendor();

    /** Architecture of the GPU: {@code sm_90}, {@code gfx942}; empty for the host device or when unknown. */
    String architecture();

    /** NUMA node; -1 when unknown. */
    int numa();

    /** Number of GPUs on the host. */
    int gpus();

    /** Other GPUs of the host that it can reach, by index. */
    List<GpuPeer> peers();

    /** NICs of the host that carry traffic of applications, nearest first. */
    List<NicReach> nics();

    /**
     * Hardware threads that the device has to itself where every GPU of its host is used: all of the host divided by its GPUs;
     * 0 when unknown.
     */
    int processors();

    /** Index of the first partition of the GPU that the device is a partition of; its own where GPUs are not divided. */
    int card();

    /** RDMA ports from which this process cannot send, with the obstacles, for people; empty if there are none. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    default String obstaclesText() {
        Map<PortObstacle, List<String>> ports = new EnumMap<>(PortObstacle.class);
        for (NicReach nic : nics()) {
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
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    default String obstaclesSuffix() {
        String ports = obstaclesText();
        return ports.isEmpty() ? "" : "; not usable: " + ports;
    }

    /** A host may have hundreds of virtual functions. */
    private static String shortened(List<String> names) {
        int more = names.size() - LocalityValue.NAMED;
        return more <= 0
                ? String.join(", ", names)
                : String.join(", ", names.subList(0, LocalityValue.NAMED)) + " and " + more + " more";
    }

    /**
     * Returns a copy without ports from which this process cannot send, since such ports may differ between hosts that
     * are otherwise alike.
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    default Locality withUsablePorts() {
        return toBuilder()
                .nics(nics().stream()
                        .filter(nic -> !nic.ports().isEmpty() || nic.obstacles().isEmpty())
                        .map(nic -> nic.obstacles().isEmpty()
                                ? nic
                                : nic.toBuilder().obstacles(Map.of()).build())
                        .toList())
                .build();
    }

    /** The other GPU whose index is {@code index}; empty if it cannot be reached. */
    default Optional<GpuPeer> peer(int index) {
        for (GpuPeer peer : peers()) {
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
    default int partitions(int ofCard) {
        return (int) peers().stream().filter(peer -> peer.card() == ofCard).count() + (card() == ofCard ? 1 : 0);
    }

    /**
     * Returns a copy with at most {@code limit} processors, since a process may be limited to fewer than its host has.
     */
    @API(status = API.Status.INTERNAL, since = "0.1")
    default Locality withAtMostProcessors(int limit) {
        int fewer = processors() > 0 ? Math.min(processors(), limit) : limit;
        return toBuilder().processors(fewer).build();
    }

    /** Collects the properties of a locality. For one thread. */
    final class Builder {
        private int gpu = -1;
        private GpuVendor vendor = GpuVendor.OTHER;
        private String architecture = "";
        private int numa = -1;
        private int gpus;
        private List<GpuPeer> peers = List.of();
        private List<NicReach> nics = List.of();
        private int processors;
        private OptionalInt card = OptionalInt.empty();

        private Builder() {}

        /** Sets the index of the GPU on its host; without this call, -1. */
        public Builder gpu(int index) {
            this.gpu = index;
            return this;
        }

        /** Sets the vendor of the GPU; without this call, {@link GpuVendor#OTHER}. */
        public Builder vendor(GpuVendor maker) {
            this.vendor = maker;
            return this;
        }

        /** Sets the architecture of the GPU: {@code sm_90}, {@code gfx942}; without this call, it is empty. */
        public Builder architecture(String name) {
            this.architecture = name;
            return this;
        }

        /** Sets the NUMA node; without this call, -1. */
        public Builder numa(int node) {
            this.numa = node;
            return this;
        }

        /** Sets the number of GPUs on the host; without this call, 0. */
        public Builder gpus(int number) {
            this.gpus = number;
            return this;
        }

        /** Sets the other GPUs of the host that it can reach; without this call, there are none. */
        public Builder peers(List<GpuPeer> others) {
            this.peers = List.copyOf(others);
            return this;
        }

        /** Sets the NICs that carry traffic of applications, nearest first; without this call, there are none. */
        public Builder nics(List<NicReach> nearestFirst) {
            this.nics = List.copyOf(nearestFirst);
            return this;
        }

        /** Sets {@link Locality#processors}; without this call, 0. */
        public Builder processors(int threads) {
            this.processors = threads;
            return this;
        }

        /** Sets the first partition of a divided GPU, by index; without this call, the GPU is not divided. */
        public Builder card(int first) {
            this.card = OptionalInt.of(first);
            return this;
        }

        /** Builds the locality. */
        public Locality build() {
            return new LocalityValue(gpu, vendor, architecture, numa, gpus, peers, nics, processors, card.orElse(gpu));
        }
    }
}

record LocalityValue(
        int gpu,
        GpuVendor vendor,
        String architecture,
        int numa,
        int gpus,
        List<GpuPeer> peers,
        List<NicReach> nics,
        int processors,
        int card)
        implements Locality {
    /** Ports that messages name at most. */
    static final int NAMED = 8;

    @Override
    public String toString() {
        return "GPU " + gpu + " of " + gpus + " (" + vendor + " " + architecture + ", card " + card + "), NUMA node "
                + numa + ", processors " + processors + ", peers " + peers + ", NICs " + nics;
    }
}
