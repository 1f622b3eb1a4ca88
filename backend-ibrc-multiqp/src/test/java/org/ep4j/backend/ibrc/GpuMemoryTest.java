package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.spi.ExposedMemory.Kind;
import org.ep4j.topology.read.FileTree;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
class GpuMemoryTest {
    private static final Optional<String> NONE = Optional.empty();
    private static final Optional<String> BARE = Optional.of("no module");

    @Test
    void dmaBufIsForNicsThatTakeIt() {
        assertThat(GpuMemory.refusal(Kind.DMA_BUF, List.of(), BARE)).isEmpty();
        assertThat(GpuMemory.refusal(Kind.DMA_BUF, List.of("mlx5_0", "mlx5_1"), NONE))
                .hasValueSatisfying(reason -> assertThat(reason)
                        .contains("mlx5_0, mlx5_1", "ibv_reg_dmabuf_mr", "Linux 5.12", "rdma-core 34"));
    }

    @Test
    void addressesAreForAKernelThatKnowsThem() {
        assertThat(GpuMemory.refusal(Kind.PEER_MEMORY, List.of("mlx5_0"), NONE)).isEmpty();
        assertThat(GpuMemory.refusal(Kind.PEER_MEMORY, List.of(), BARE)).isEqualTo(BARE);
        assertThat(GpuMemory.refusal(Kind.HOST, List.of("mlx5_0"), BARE)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
                    cuda:0, sys/module/nvidia_peermem/version,               nvidia_peermem
                    hip:0,  sys/kernel/mm/memory_peers/amdkfd/version,       amdgpu-dkms
                    hip:0,  sys/kernel/memory_peers/amdkfd/version,          amdgpu-dkms
                    hip:0,  sys/memory_peers/amdkfd/version,                 amdgpu-dkms
                    """)
    void theKernelShowsThatItKnowsThem(String gpu, String file, String remedy, @TempDir Path machine)
            throws IOException {
        Device device = Device.parse(gpu);
        Device other = Device.parse(device.type().equals("hip") ? "cuda:0" : "hip:0");
        assertThat(GpuMemory.peerMemoryRefusal(device, FileTree.of(machine)))
                .hasValueSatisfying(reason -> assertThat(reason).contains(remedy));
        Files.createDirectories(machine.resolve(file).getParent());
        Files.writeString(machine.resolve(file), "1.0");
        assertThat(GpuMemory.peerMemoryRefusal(device, FileTree.of(machine))).isEmpty();
        assertThat(GpuMemory.peerMemoryRefusal(other, FileTree.of(machine))).isPresent();
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
