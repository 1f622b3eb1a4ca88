package org.ep4j.topology.read;

import java.util.List;
import java.util.Optional;

/**
 * Whether NICs can use addresses of AMD GPUs' memory. They can if amdgpu is a client of the kernel's peer memory
 * interface, which NIC drivers such as MLNX_OFED add.
 *
 * @param client where amdgpu shows it; empty where it does not
 */
public record AmdPeerMemory(Optional<String> client) {
    /** The places that RCCL looks at (net_ib.cc): the folder moved with kernels. */
    private static final List<String> PLACES = List.of(
            "/sys/kernel/mm/memory_peers/amdkfd", "/sys/kernel/memory_peers/amdkfd", "/sys/memory_peers/amdkfd");

    /** Reads the files of a machine. */
    public static AmdPeerMemory of(FileTree files) {
        return new AmdPeerMemory(PLACES.stream()
                .filter(place -> files.exists(place + "/version"))
                .findFirst());
    }
}
