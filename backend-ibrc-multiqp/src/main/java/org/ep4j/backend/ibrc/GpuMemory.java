package org.ep4j.backend.ibrc;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.KfdNode;
import org.ep4j.topology.read.NvidiaPeerMemory;

/** Which memory of GPUs verbs register. */
final class GpuMemory {
    private GpuMemory() {}

    /**
     * Why a kind cannot be registered with some devices.
     *
     * @param withoutDmaBuf those that take no dma-buf, see {@link NicDevice#dmabuf}
     * @param withoutPeerMemory why the kernel knows no addresses of the GPU, see {@link #peerMemoryRefusal(Device)}
     */
    static Optional<String> refusal(
            ExposedMemory.Kind kind, List<String> withoutDmaBuf, Optional<String> withoutPeerMemory) {
        return switch (kind) {
            case HOST -> Optional.empty();
            case DMA_BUF ->
                withoutDmaBuf.isEmpty()
                        ? Optional.empty()
                        : Optional.of(String.join(", ", withoutDmaBuf)
                                + " cannot register dma-bufs (ibv_reg_dmabuf_mr); this needs Linux 5.12,"
                                + " rdma-core 34 and a NIC driver that supports it; update these");
            case PEER_MEMORY -> withoutPeerMemory;
        };
    }

    /** Why NICs of this machine cannot register memory of a GPU by its address, with what to do. */
    static Optional<String> peerMemoryRefusal(Device gpu) {
        return peerMemoryRefusal(gpu, FileTree.of(Path.of("/")));
    }

    static Optional<String> peerMemoryRefusal(Device gpu, FileTree files) {
        if (gpu.type().equals("hip")) {
            return KfdNode.peerMemoryClient(files).isPresent()
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
