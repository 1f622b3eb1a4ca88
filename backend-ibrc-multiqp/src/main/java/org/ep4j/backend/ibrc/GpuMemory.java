package org.ep4j.backend.ibrc;

import java.util.List;
import java.util.Optional;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.topology.read.NvidiaPeerMemory;

/** Which memory of GPUs verbs register. */
final class GpuMemory {
    private GpuMemory() {}

    /**
     * Why a kind cannot be registered with some devices.
     *
     * @param withoutDmaBuf those that take no dma-buf, see {@link NicDevice#dmabuf}
     * @param kernel of this machine
     */
    static Optional<String> refusal(ExposedMemory.Kind kind, List<String> withoutDmaBuf, NvidiaPeerMemory kernel) {
        return switch (kind) {
            case HOST -> Optional.empty();
            case DMA_BUF ->
                withoutDmaBuf.isEmpty()
                        ? Optional.empty()
                        : Optional.of(String.join(", ", withoutDmaBuf)
                                + " takes none (ibv_reg_dmabuf_mr), which needs Linux 5.12,"
                                + " rdma-core 34 and a driver of the NIC that does; update these");
            case PEER_MEMORY ->
                kernel.peermem().isPresent()
                        ? Optional.empty()
                        : Optional.of(
                                "the kernel has not loaded nvidia_peermem, by which NICs know addresses of GPU memory;"
                                        + " modprobe nvidia_peermem");
        };
    }
}
