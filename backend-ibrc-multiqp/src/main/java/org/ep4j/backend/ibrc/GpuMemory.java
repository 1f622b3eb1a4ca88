package org.ep4j.backend.ibrc;

import java.util.List;
import java.util.Optional;
import org.ep4j.spi.ExposedMemory;

/** Which memory of GPUs verbs register. */
final class GpuMemory {
    private GpuMemory() {}

    /**
     * Why a kind cannot be registered with some devices.
     *
     * @param withoutDmaBuf those that take no dma-buf, see {@link NicDevice#dmabuf}
     * @param withoutPeerMemory why the kernel knows no addresses of the GPU, see {@link Machine#peerMemory}
     */
    static Optional<String> refusal(
            ExposedMemory.Kind kind, List<String> withoutDmaBuf, Optional<String> withoutPeerMemory) {
        return switch (kind) {
            case HOST -> Optional.empty();
            case DMA_BUF ->
                withoutDmaBuf.isEmpty()
                        ? Optional.empty()
                        : Optional.of(String.join(", ", withoutDmaBuf)
                                + " takes none (ibv_reg_dmabuf_mr), which needs Linux 5.12,"
                                + " rdma-core 34 and a driver of the NIC that does; update these");
            case PEER_MEMORY -> withoutPeerMemory;
        };
    }
}
