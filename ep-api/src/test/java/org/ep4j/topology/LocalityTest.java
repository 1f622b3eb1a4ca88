package org.ep4j.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.NicReach.PortObstacle;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class LocalityTest {
    private static final Distance NEAR = new Distance(PathType.PIX, 48, 2);
    private static final NicReach NIC = NicReach.builder("mlx5_0", NicFamily.MLX5, NEAR)
            .ports(List.of(new NicReach.Port(1, LinkLayer.ETHERNET, 400)))
            .obstacles(Map.of(2, PortObstacle.DOWN))
            .build();
    private static final NicReach DOWN = NicReach.builder("mlx5_1", NicFamily.MLX5, NEAR)
            .obstacles(Map.of(1, PortObstacle.DOWN))
            .build();
    private static final Locality GPU = Locality.builder()
            .gpu(3)
            .vendor(GpuVendor.NVIDIA)
            .architecture("sm_90")
            .numa(1)
            .gpus(8)
            .peers(List.of(GpuPeer.of(2, NEAR, LinkType.NVLINK)))
            .nics(List.of(NIC, DOWN))
            .processors(16)
            .build();

    @Test
    void aGpuThatIsNotDividedIsACardOfItsOwn() {
        assertThat(GPU.card()).isEqualTo(3);
        assertThat(GPU.toBuilder().card(2).build().card()).isEqualTo(2);
        assertThat(GPU.toBuilder().card(2).build().partitions(2)).isEqualTo(2);
        assertThat(GPU.toBuilder().gpu(5).build().card()).isEqualTo(5);
        Locality part = GPU.toBuilder().card(2).build();
        assertThat(part.toBuilder().gpu(5).build().card()).isEqualTo(2);
        assertThat(GPU.peer(2).orElseThrow().card()).isEqualTo(2);
        assertThat(GPU.peer(3)).isEmpty();
        assertThat(NIC.card()).isEqualTo("mlx5_0");
        assertThat(NIC.function()).isEqualTo("mlx5_0");
        assertThat(NIC.gpuDirect()).isEmpty();
    }

    @Test
    void placesAreEqualByWhatIsThere() {
        assertThat(GPU)
                .isEqualTo(GPU.toBuilder().build())
                .hasSameHashCodeAs(GPU.toBuilder().build());
        assertThat(GPU).isNotEqualTo(GPU.toBuilder().numa(0).build()).isNotEqualTo(Locality.UNKNOWN);
        assertThat(Locality.UNKNOWN).isEqualTo(Locality.builder().build());
        assertThat(NIC)
                .isEqualTo(NIC.toBuilder().build())
                .hasSameHashCodeAs(NIC.toBuilder().build())
                .isNotEqualTo(NIC.toBuilder().gpuDirect(true).build())
                .isNotEqualTo(NIC.toBuilder().function("mlx5_9").build());
        GpuPeer peer = GpuPeer.of(2, NEAR, LinkType.XGMI);
        assertThat(peer)
                .isEqualTo(GpuPeer.of(2, NEAR, LinkType.XGMI))
                .hasSameHashCodeAs(GpuPeer.of(2, NEAR, LinkType.XGMI))
                .isNotEqualTo(peer.partOf(0))
                .isNotEqualTo(peer.through(List.of(1)));
    }

    @Test
    void portsThatCannotSendAreNamedAndLeftOut() {
        assertThat(GPU.obstaclesText()).isEqualTo("mlx5_0:2, mlx5_1:1 (down)");
        assertThat(GPU.withUsablePorts().nics())
                .containsExactly(NIC.toBuilder().obstacles(Map.of()).build());
        assertThat(GPU.withUsablePorts().obstaclesSuffix()).isEmpty();
    }

    @Test
    void aProcessMayHaveFewerProcessorsThanItsHost() {
        assertThat(GPU.withAtMostProcessors(4).processors()).isEqualTo(4);
        assertThat(GPU.withAtMostProcessors(64)).isEqualTo(GPU);
        assertThat(Locality.UNKNOWN.withAtMostProcessors(4).processors()).isEqualTo(4);
    }
}
