package org.ep4j.backend.ibrc;

import java.nio.file.Path;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.topology.Topology;
import org.ep4j.topology.read.AmdPeerMemory;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LinuxTopology;
import org.ep4j.topology.read.NvidiaPeerMemory;

/** This machine, as far as NICs are concerned. */
final class Machine {
    private Machine() {}

    /** Its NICs as they are now. The libraries of GPUs, which take time to find, have nothing to say about them. */
    static Topology nics() {
        return LinuxTopology.read("this machine", FileTree.of(Path.of("/")), System.getenv());
    }

    /** What keeps NICs from registering memory of a GPU by its address, with what to do. */
    static Optional<String> peerMemory(Device gpu) {
        return peerMemory(gpu, FileTree.of(Path.of("/")));
    }

    static Optional<String> peerMemory(Device gpu, FileTree files) {
        if (gpu.type().equals("hip")) {
            return AmdPeerMemory.of(files).client().isPresent()
                    ? Optional.empty()
                    : Optional.of(
                            "the kernel has no peer interface of amdgpu (/sys/kernel/mm/memory_peers/amdkfd), by which"
                                    + " NICs know addresses of AMD GPUs' memory; install amdgpu-dkms beside a driver of the NIC that"
                                    + " has peer memory, as MLNX_OFED, or see why dma-buf does not work");
        }
        return NvidiaPeerMemory.of(files).peermem().isPresent()
                ? Optional.empty()
                : Optional.of("the kernel has not loaded nvidia_peermem, by which NICs know addresses of GPU memory;"
                        + " modprobe nvidia_peermem");
    }
}
