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
                            "the kernel has no peer interface of amdgpu (/sys/kernel/mm/memory_peers/amdkfd), through which"
                                    + " NICs find addresses of AMD GPU memory; install amdgpu-dkms and a NIC driver with peer memory"
                                    + " support, such as MLNX_OFED, or find out why dma-buf does not work");
        }
        return NvidiaPeerMemory.of(files).peermem().isPresent()
                ? Optional.empty()
                : Optional.of(
                        "the kernel has not loaded nvidia_peermem, through which NICs find addresses of GPU memory;"
                                + " run modprobe nvidia_peermem");
    }
}
