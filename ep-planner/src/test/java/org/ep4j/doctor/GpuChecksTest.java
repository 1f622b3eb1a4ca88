package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.doctor.DoctorInput.Need;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class GpuChecksTest {
    @TempDir
    private Path root;

    @Test
    void aGpuWithoutTheLinksOfTheOthersIsAWarning() {
        FakeSystem system = FakeSystem.nvidia(root);
        assertThat(system.check(DoctorCode.GPU_LINKS).status()).isEqualTo(Status.PASS);
        assertThat(system.check(DoctorCode.GPU_LINKS).detail()).isEqualTo("every GPU has 18 NVLinks");
        system.lonelyGpu(8, GpuVendor.NVIDIA, "sm_90", "");
        assertThat(system.check(DoctorCode.GPU_LINKS).detail()).contains("GPU8 without any link", "18");
    }

    @Test
    void aDomainBeyondTheHostNeedsAChannel() {
        FakeSystem system = FakeSystem.plain(root).gpu(0, GpuVendor.NVIDIA, "sm_100", "uuid/1");
        assertThat(system.check(DoctorCode.IMEX_CHANNELS).status()).isEqualTo(Status.WARN);
        system.file("/dev/nvidia-caps-imex-channels/channel0", "");
        assertThat(system.check(DoctorCode.IMEX_CHANNELS).status()).isEqualTo(Status.PASS);
    }

    @Test
    void aGpuWithFewerLinksThanOthersOnItsSwitchIsAWarningWithTheCounts() {
        Check check = FakeSystem.nvidia(root)
                .linkedGpu(8, GpuVendor.NVIDIA, "sm_90", "", 6)
                .check(DoctorCode.GPU_LINKS);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail()).isEqualTo("GPU8 has 6 NVLinks; other GPUs on NVSwitch have 18");
    }

    @Test
    void gpusWithoutLinksAreJoinedByPcie() {
        FakeSystem system = FakeSystem.plain(root);
        system.lonelyGpu(0, GpuVendor.NVIDIA, "sm_89", "");
        system.lonelyGpu(1, GpuVendor.NVIDIA, "sm_89", "");
        assertThat(system.check(DoctorCode.GPU_LINKS).status()).isEqualTo(Status.PASS);
        assertThat(system.check(DoctorCode.GPU_LINKS).detail()).contains("PCIe alone");
    }

    @Test
    void aRecordingWithoutNvlinkInformationIsNotRunAndNoOddityOfTheMachine() {
        FakeSystem system = FakeSystem.plain(root);
        for (int i = 0; i < 2; i++) {
            String function = "pci0000:00/0000:00:0" + i + ".0";
            String folder = "/sys/devices/" + function;
            system.file(folder + "/class", "0x030200")
                    .file(folder + "/vendor", "0x10de")
                    .file(folder + "/device", "0x2335")
                    .link("/sys/bus/pci/devices/0000:00:0" + i + ".0", "../../../devices/" + function);
        }
        List<Check> checks = Doctor.examine(new DoctorInput(
                Topologies.read(root),
                FileTree.of(root),
                Map.of(),
                EpConfig.builder(Map.of(), Map.of()).build(),
                Map.of(),
                List.of(),
                new Need(2, 1),
                Optional.empty(),
                EpKeys.all(),
                Optional.empty()));
        Check links = of(checks, DoctorCode.GPU_LINKS);
        assertThat(links.status()).isEqualTo(Status.NOT_RUN);
        assertThat(links.detail()).contains("does not describe NVLink");
        assertThat(links.remedy()).contains("run doctor on the machine");
        assertThat(of(checks, DoctorCode.MACHINE_READ).status()).isEqualTo(Status.PASS);
    }

    private static Check of(List<Check> checks, DoctorCode code) {
        return checks.stream()
                .filter(check -> check.code().equals(code.code()))
                .findFirst()
                .orElseThrow();
    }
}
