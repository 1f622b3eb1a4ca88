package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.spi.ExposedMemory.Kind;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class GpuMemoryTest {
    private static final int OLD = 1 << 16 | 17;
    private static final int NEW = 1 << 16 | 20;
    private static final int P2P_MISSING = -95;

    private static FabricInfo nic(boolean deviceMemory) {
        return FabricInfo.parse(0, "provider=efa\nfabric=efa\ndomain=rdmap0s6-rdm\nhmem=" + (deviceMemory ? 1 : 0));
    }

    @Test
    void aProviderThatTakesItRegistersItByItsAddressAndFromLibfabric120AsDmaBuf() {
        assertThat(GpuMemory.refusal(Kind.DMA_BUF, nic(true), NEW, 0)).isEmpty();
        assertThat(GpuMemory.refusal(Kind.PEER_MEMORY, nic(true), OLD, 0)).isEmpty();
        assertThat(GpuMemory.refusal(Kind.DMA_BUF, nic(true), OLD, 0))
                .contains("libfabric 1.17 has no FI_MR_DMABUF; install 1.20 or newer");
    }

    @Test
    void oneThatDoesNotIsNotGivenAddressesThatItWouldReadItself() {
        for (Kind kind : new Kind[] {Kind.DMA_BUF, Kind.PEER_MEMORY}) {
            assertThat(GpuMemory.refusal(kind, nic(false), NEW, 0))
                    .hasValueSatisfying(reason -> assertThat(reason)
                            .contains(
                                    "efa on rdmap0s6 cannot register GPU memory",
                                    "FI_HMEM",
                                    "built with CUDA or ROCr"));
            assertThat(GpuMemory.refusal(kind, nic(true), NEW, P2P_MISSING))
                    .hasValueSatisfying(reason -> assertThat(reason).contains("FI_HMEM_P2P_REQUIRED: error 95"));
        }
        assertThat(GpuMemory.refusal(Kind.HOST, nic(false), OLD, P2P_MISSING)).isEqualTo(Optional.empty());
    }

    @Test
    void providersAreAskedForItWhereItIsWanted() {
        EpConfig any = EpConfig.builder(Map.of(), Map.of()).build();
        EpConfig host =
                EpConfig.builder(Map.of(), Map.of("EP_GPU_WINDOW", "host")).build();
        assertThat(GpuMemory.wanted(Device.parse("cuda:1"), any)).isTrue();
        assertThat(GpuMemory.wanted(Device.parse("cuda:1"), host)).isFalse();
        assertThat(GpuMemory.wanted(Device.parse("hip:0"), any)).isTrue();
        assertThat(GpuMemory.wanted(Device.parse("hip:0"), host)).isFalse();
        assertThat(GpuMemory.wanted(Device.HOST, any)).isFalse();
    }
}
