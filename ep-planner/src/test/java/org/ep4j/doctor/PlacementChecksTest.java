package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.NicPort;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class PlacementChecksTest {
    @TempDir
    private Path root;

    /** A GPU and two NICs on one switch. */
    private FakeSystem pair() {
        return FakeSystem.plain(root)
                .gpu(0, GpuVendor.NVIDIA, "sm_90", "")
                .nic(0, "mlx5_0", NicFamily.MLX5, port())
                .nic(0, "mlx5_1", NicFamily.MLX5, port());
    }

    private static NicPort port() {
        return FakeSystem.port(NicPort.State.ACTIVE, 400, FakeSystem.INFINIBAND);
    }

    @Test
    void allGpusOnOneNicIsAWarningWithTheNamesOfBoth() {
        FakeSystem system = FakeSystem.nvidia(root.resolve("eight"));
        for (int gpu = 0; gpu < 8; gpu++) {
            system.nics.put(gpu, List.of("mlx5_0:1"));
        }
        Check check = system.check(DoctorCode.ONE_NIC_FOR_ALL);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail()).contains("all 8 GPUs use mlx5_0", "7 other NICs");
        assertThat(check.remedy()).isEqualTo(DoctorCode.ONE_NIC_FOR_ALL.remedy());
    }

    @Test
    void oneNicForAllIsFineWhereThereIsNoOther() {
        FakeSystem system = FakeSystem.plain(root.resolve("one"))
                .gpu(0, GpuVendor.NVIDIA, "sm_90", "")
                .gpu(1, GpuVendor.NVIDIA, "sm_90", "")
                .nic(0, "mlx5_0", NicFamily.MLX5, port());
        system.nics.put(0, List.of("mlx5_0:1"));
        system.nics.put(1, List.of("mlx5_0:1"));
        assertThat(system.check(DoctorCode.ONE_NIC_FOR_ALL).status()).isEqualTo(Status.PASS);
        assertThat(system.check(DoctorCode.NIC_SHARED_WHILE_ANOTHER_IDLES).status())
                .isEqualTo(Status.PASS);
    }

    @Test
    void theMappingOfNvshmemThatGivesAllTheFirstNicIsAWarning() {
        FakeSystem pair = pair();
        pair.environment.put("NVSHMEM_ENABLE_NIC_PE_MAPPING", "1");
        pair.environment.put("NVSHMEM_HCA_PE_MAPPING", "mlx5_0:1:1,mlx5_1:1:1");
        assertThat(pair.check(DoctorCode.ONE_NIC_FOR_ALL).status()).isEqualTo(Status.WARN);
        pair.environment.put("NVSHMEM_HCA_PE_MAPPING", "mlx5_0:1:1");
        assertThat(pair.check(DoctorCode.ONE_NIC_FOR_ALL).status()).isEqualTo(Status.NOT_RUN);
    }

    @Test
    void twoGpusOnOneNicWhileAnEquallyNearOneIdlesIsAWarning() {
        FakeSystem pair = pair();
        pair.gpuOn(0, 1, GpuVendor.NVIDIA, "sm_90", "");
        pair.nics.put(0, List.of("mlx5_0:1"));
        pair.nics.put(1, List.of("mlx5_0:1"));
        Check check = pair.check(DoctorCode.NIC_SHARED_WHILE_ANOTHER_IDLES);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail()).contains("GPUs 0, 1 share mlx5_0", "mlx5_1, which is equally near, is idle");
    }

    @Test
    void sharingIsFineWhenTheIdleNicIsFarther() {
        FakeSystem system = FakeSystem.plain(root.resolve("far"))
                .nic(0, "mlx5_0", NicFamily.MLX5, port())
                .farNic("mlx5_9", NicFamily.MLX5, port());
        system.gpuOn(0, 0, GpuVendor.NVIDIA, "sm_90", "");
        system.gpuOn(0, 1, GpuVendor.NVIDIA, "sm_90", "");
        system.nics.put(0, List.of("mlx5_0:1"));
        system.nics.put(1, List.of("mlx5_0:1"));
        assertThat(system.check(DoctorCode.NIC_SHARED_WHILE_ANOTHER_IDLES).status())
                .isEqualTo(Status.PASS);
    }

    @Test
    void aNicBeyondTheSwitchesIsTooFarForGpuDirect() {
        FakeSystem pair = pair();
        assertThat(pair.check(DoctorCode.NIC_FAR).status()).isEqualTo(Status.PASS);
        pair.farNic("mlx5_9", NicFamily.MLX5, port()).nics.put(0, List.of("mlx5_9:1"));
        Check check = pair.check(DoctorCode.NIC_FAR);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail()).contains("PHB", "GPU0 to mlx5_9");
    }

    @Test
    void aNicWithoutRdmaThatSocketsUseIsNoNicOfAGpu() {
        FakeSystem pair = pair();
        pair.farNic("eth0", NicFamily.ETHERNET).nics.put(0, List.of("eth0:1"));
        assertThat(pair.check(DoctorCode.ONE_NIC_FOR_ALL).status()).isEqualTo(Status.NOT_RUN);
        assertThat(pair.check(DoctorCode.NIC_FAR).status()).isEqualTo(Status.PASS);
    }

    @Test
    void theSettingThatChoseTheNicIsNamedAsTheCause() {
        FakeSystem pair = pair();
        pair.gpuOn(0, 1, GpuVendor.NVIDIA, "sm_90", "");
        pair.nics.put(0, List.of("mlx5_0:1"));
        pair.nics.put(1, List.of("mlx5_0:1"));
        pair.environment.put("NCCL_IB_HCA", "=mlx5_0");
        pair.settings.put("ep.nic.map", "*:mlx5_0");
        for (DoctorCode code : List.of(DoctorCode.ONE_NIC_FOR_ALL, DoctorCode.NIC_SHARED_WHILE_ANOTHER_IDLES)) {
            assertThat(pair.check(code).status()).isEqualTo(Status.WARN);
            assertThat(pair.check(code).remedy())
                    .contains("ep.nic.map=*:mlx5_0", "NCCL_IB_HCA==mlx5_0 (read as ep.nic.include)");
        }
    }
}
