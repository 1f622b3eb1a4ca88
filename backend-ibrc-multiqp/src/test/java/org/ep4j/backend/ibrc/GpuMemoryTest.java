package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.ep4j.spi.ExposedMemory.Kind;
import org.ep4j.topology.read.NvidiaPeerMemory;
import org.junit.jupiter.api.Test;

class GpuMemoryTest {
    private static final NvidiaPeerMemory BARE = new NvidiaPeerMemory(true, Optional.empty(), "", "6.8.0");
    private static final NvidiaPeerMemory MODULE =
            new NvidiaPeerMemory(true, Optional.of("/sys/module/nvidia_peermem"), "", "5.4.0");

    @Test
    void dmaBufIsForNicsThatTakeIt() {
        assertThat(GpuMemory.refusal(Kind.DMA_BUF, List.of(), BARE)).isEmpty();
        assertThat(GpuMemory.refusal(Kind.DMA_BUF, List.of("mlx5_0", "mlx5_1"), MODULE))
                .hasValueSatisfying(reason -> assertThat(reason)
                        .contains("mlx5_0, mlx5_1", "ibv_reg_dmabuf_mr", "Linux 5.12", "rdma-core 34"));
    }

    @Test
    void addressesAreForAKernelThatKnowsThem() {
        assertThat(GpuMemory.refusal(Kind.PEER_MEMORY, List.of("mlx5_0"), MODULE))
                .isEmpty();
        assertThat(GpuMemory.refusal(Kind.PEER_MEMORY, List.of(), BARE))
                .hasValueSatisfying(reason -> assertThat(reason).contains("modprobe nvidia_peermem"));
        assertThat(GpuMemory.refusal(Kind.HOST, List.of("mlx5_0"), BARE)).isEmpty();
    }

    @Test
    void aRegistrationThatFailsIsNotBlamedOnLimitsOfTheProcess() {
        for (Kind kind : List.of(Kind.DMA_BUF, Kind.PEER_MEMORY)) {
            assertThat(Errno.remedy(Errno.ENOMEM, Errno.About.of(kind), Optional.empty()))
                    .contains("kernel's log", "BAR1", "IOMMU")
                    .doesNotContain("limit");
        }
        assertThat(Errno.remedy(Errno.ENOMEM, Errno.About.of(Kind.HOST), Optional.empty()))
                .contains("limit");
    }
}
