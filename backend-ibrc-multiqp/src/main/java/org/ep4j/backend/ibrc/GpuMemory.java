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
                                + " cannot register dma-bufs (ibv_reg_dmabuf_mr); this needs Linux 5.12,"
                                + " rdma-core 34 and a NIC driver that supports it; update these");
            case PEER_MEMORY -> withoutPeerMemory;
        };
    }
}
