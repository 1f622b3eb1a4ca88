package org.ep4j.gpu.driver;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.topology.model.PciAddress;

/**
 * A GPU, or a partition of one, that a driver shows to this process.
 *
 * @param ordinal its number in this process, which says nothing in another one
 * @param name name for people
 * @param address its PCI function, by which all processes of a host know it; partitions of one GPU have functions of their own,
 *     or all the same, as ROCm's version has it
 * @param architecture {@code sm_90} or {@code gfx942}; empty if the driver does not report it
 * @param interprocess true when its memory can be shared with other processes
 * @param fabric true when its memory can be shared beyond the host by fabric handles
 * @param peers the other GPUs of the process, by ordinal
 */
public record VisibleGpu(
        int ordinal,
        String name,
        Optional<PciAddress> address,
        String architecture,
        boolean interprocess,
        boolean fabric,
        Map<Integer, Peer> peers) {
    /**
     * Access of a GPU to another.
     *
     * @param possible it can load and store the other's memory
     * @param linked HIP: xGMI joins them. CUDA: it can do atomic operations on the other's memory, which is so over NVLink and
     *     mostly not over PCIe
     * @param hops links on the way, at least 1; 1 if the driver does not report them
     */
    public record Peer(boolean possible, boolean linked, int hops) {}

    public VisibleGpu {
        peers = Collections.unmodifiableMap(new TreeMap<>(peers));
    }

    /** Describes peer access between this GPU and another. */
    public String access(VisibleGpu other) {
        boolean there = reaches(other);
        boolean back = other.reaches(this);
        return there && back ? "peer access" : there || back ? "peer access one way only" : "no peer access";
    }

    private boolean reaches(VisibleGpu other) {
        return Optional.ofNullable(peers.get(other.ordinal))
                .filter(Peer::possible)
                .isPresent();
    }

    /**
     * The GPUs that a driver shows to this process.
     *
     * @param driver the driver and its version, for people
     * @param all the GPUs, by ordinal
     */
    public record VisibleGpus(String driver, List<VisibleGpu> all) {
        public VisibleGpus {
            all = List.copyOf(all);
        }
    }
}
