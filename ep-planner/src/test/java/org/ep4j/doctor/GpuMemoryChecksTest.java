package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.NicPort;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class GpuMemoryChecksTest {
    private static final DoctorCode CODE = DoctorCode.GPU_MEMORY_REGISTRATION;

    @TempDir
    private Path root;

    private FakeSystem nvidiaWithoutPeermem(String driver, String release) {
        FakeSystem system = FakeSystem.nvidia(root);
        system.remove("/sys/module/nvidia_peermem/version").remove("/sys/module/nvidia_peermem");
        return system.file("/proc/driver/nvidia/version", driver).file("/proc/sys/kernel/osrelease", release);
    }

    @Test
    void peermemIsEnough() {
        assertThat(FakeSystem.nvidia(root).check(CODE).detail()).contains("nvidia_peermem");
    }

    @Test
    void theModuleThatComesWithEfaIsEnough() {
        FakeSystem system = nvidiaWithoutPeermem("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1", "5.4.0-100")
                .file("/sys/module/efa_nv_peermem/version", "1.1");
        assertThat(system.check(CODE).detail()).contains("efa_nv_peermem");
    }

    @Test
    void withoutPeermemTheOpenModulesOnANewKernelAreEnough() {
        Check check = nvidiaWithoutPeermem("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65", "6.8.0")
                .check(CODE);
        assertThat(check.status()).isEqualTo(Status.PASS);
        assertThat(check.detail()).contains("dma-buf");
    }

    @Test
    void withoutPeermemAndDmaBufItFailsWithWhatIsMissing() {
        Check check = nvidiaWithoutPeermem("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1", "5.4.0-100")
                .check(CODE);
        assertThat(check.status()).isEqualTo(Status.FAIL);
        assertThat(check.detail()).contains("nvidia_peermem is absent", "open kernel modules", "5.12", "5.4.0-100");
    }

    @Test
    void forAmdEitherThePeerInterfaceOrTheKernelsDmaBufIsEnough() {
        FakeSystem system = FakeSystem.amd(root, "gfx942", NicFamily.IONIC);
        assertThat(system.check(CODE).detail()).contains("peer interface");
        system.remove("/sys/kernel/mm/memory_peers/amdkfd/version");
        assertThat(system.check(CODE).status()).isEqualTo(Status.NOT_RUN);
        system.file("/boot/config-6.8.0-45-generic", "CONFIG_PCI_P2PDMA=y\n# CONFIG_DMABUF_MOVE_NOTIFY is not set");
        assertThat(system.check(CODE).status()).isEqualTo(Status.FAIL);
        assertThat(system.check(CODE).detail()).contains("lacks CONFIG_DMABUF_MOVE_NOTIFY");
        system.file("/boot/config-6.8.0-45-generic", "CONFIG_PCI_P2PDMA=y\nCONFIG_DMABUF_MOVE_NOTIFY=y");
        assertThat(system.check(CODE).status()).isEqualTo(Status.PASS);
    }

    @Test
    void gdrcopyIsMissedOnlyByOldNvshmem() {
        FakeSystem system = FakeSystem.nvidia(root);
        assertThat(system.check(DoctorCode.GDRCOPY).status()).isEqualTo(Status.PASS);
        system.remove("/usr/lib/x86_64-linux-gnu/libnvshmem_host.so.3.4.5");
        system.file("/usr/lib/x86_64-linux-gnu/libnvshmem_host.so.3.3.9", "");
        assertThat(system.check(DoctorCode.GDRCOPY).status()).isEqualTo(Status.WARN);
        system.file("/dev/gdrdrv", "");
        assertThat(system.check(DoctorCode.GDRCOPY).status()).isEqualTo(Status.PASS);
    }

    @Test
    void intelNicsBehindATranslatingIommuAreAWarning() {
        FakeSystem system = FakeSystem.plain(root)
                .farNic("irdma0", NicFamily.IRDMA, FakeSystem.port(NicPort.State.ACTIVE, 100, FakeSystem.ROCE_V2));
        assertThat(system.check(DoctorCode.LARGE_REGISTRATIONS).status()).isEqualTo(Status.PASS);
        PciChecksTest.translate(system, FakeSystem.nicAddress("irdma0"), "DMA-FQ");
        assertThat(system.check(DoctorCode.LARGE_REGISTRATIONS).status()).isEqualTo(Status.WARN);
    }

    @Test
    void withoutTheDriverNothingIsSaidOfItsModules() {
        FakeSystem system = FakeSystem.nvidia(root);
        system.remove("/sys/module/nvidia_peermem/version").remove("/sys/module/nvidia_peermem");
        Check check = system.check(CODE);
        assertThat(check.status()).isEqualTo(Status.NOT_RUN);
        assertThat(check.remedy()).contains("load the NVIDIA driver");
        assertThat(check.detail()).doesNotContain("open kernel modules");
    }
}
