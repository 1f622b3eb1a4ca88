package org.ep4j.engine.cuda;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.topology.PciAddress;

/**
 * A GPU that the CUDA driver shows to this process.
 *
 * @param ordinal its number in this process, which says nothing in another one
 * @param name name for people
 * @param address its PCI function, by which all processes of a host know it
 * @param architecture {@code sm_90}
 * @param interprocess true when its memory can be shared with other processes by {@code cuIpc} handles
 * @param fabric true when its memory can be shared beyond the host by fabric handles
 * @param peers the other GPUs of the process, by ordinal
 */
public record CudaGpu(
        int ordinal,
        String name,
        Optional<PciAddress> address,
        String architecture,
        boolean interprocess,
        boolean fabric,
        Map<Integer, Access> peers) {
    /**
     * What a GPU can do with the memory of another.
     *
     * @param possible it can load and store it
     * @param atomics it can do atomic operations on it, which is so over NVLink and mostly not over PCIe
     */
    public record Access(boolean possible, boolean atomics) {}

    /** Copies the map. */
    public CudaGpu {
        peers = java.util.Collections.unmodifiableMap(new TreeMap<>(peers));
    }
}
