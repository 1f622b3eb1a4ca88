package org.ep4j.backend.efa;

import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.ExposedMemory;

/** Which memory of GPUs providers register. */
final class GpuMemory {
    /** The first library with {@code FI_MR_DMABUF}: 1.20. */
    private static final int DMA_BUF = 1 << 16 | 20;

    private static final int SYSTEM = 0;
    private static final int CUDA = 1;
    private static final int ROCR = 2;

    private GpuMemory() {}

    /** The {@code fi_hmem_iface} of {@code fi_domain.h} that knows a device. */
    static int hmem(Device device) {
        return switch (device.type()) {
            case "cuda" -> CUDA;
            case "hip" -> ROCR;
            default -> SYSTEM;
        };
    }

    /** True where providers are to be asked for it. */
    static boolean wanted(Device device, EpConfig config) {
        return !device.equals(Device.HOST) && !EpKeys.GPU_WINDOW.get(config).equals("host");
    }

    /**
     * Why a kind cannot be registered with a NIC.
     *
     * @param version of the library, as {@link Libfabric#version} returns it
     * @param direct 0, or the negated error of a provider that would call CUDA for what it sends
     */
    static Optional<String> refusal(ExposedMemory.Kind kind, FabricInfo info, int version, int direct) {
        String name = info.provider() + " on " + info.device();
        if (kind == ExposedMemory.Kind.HOST) {
            return Optional.empty();
        }
        if (!info.deviceMemory()) {
            return Optional.of(
                    name + " cannot register GPU memory (fi_info -c FI_HMEM does not list it); use the NIC's own"
                            + " provider (efa, cxi, verbs) from a libfabric that was built with CUDA"
                            + " or ROCr");
        }
        if (direct < 0) {
            return Optional.of(name + " cannot access GPU memory directly (FI_HMEM_P2P_REQUIRED: error " + -direct
                    + "); check that the drivers of GPU and NIC are compatible");
        }
        return kind == ExposedMemory.Kind.DMA_BUF && version < DMA_BUF
                ? Optional.of("libfabric " + (version >>> 16) + "." + (version & 0xffff)
                        + " has no FI_MR_DMABUF; install 1.20 or newer")
                : Optional.empty();
    }
}
