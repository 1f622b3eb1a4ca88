package org.ep4j.backend.rocm;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.VisibleGpu.VisibleGpus;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.topology.model.TopologyException;
import org.ep4j.topology.read.FileTree;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class ProbeTest {
    private static final List<String> CODES = List.of(
            "EP-ROC-001",
            "EP-ROC-002",
            "EP-ROC-003",
            "EP-ROC-004",
            "EP-ROC-005",
            "EP-ROC-006",
            "EP-ROC-007",
            "EP-ROC-008",
            "EP-ROC-009");

    private static Check check(ProbeReport report, String code) {
        assertThat(report.checks()).extracting(Check::code).containsExactlyElementsOf(CODES);
        assertThat(report.checks())
                .filteredOn(check -> check.status() == Status.WARN || check.status() == Status.FAIL)
                .allSatisfy(check -> assertThat(check.remedy()).isNotBlank());
        return report.checks().stream()
                .filter(check -> check.code().equals(code))
                .findFirst()
                .orElseThrow();
    }

    private static ProbeReport probe(AmdMachine machine, FileTree files, Predicate<String> opens) {
        return new RocmProbe(
                        new RocmProvider(),
                        machine::shown,
                        machine::topology,
                        machine::process,
                        files,
                        opens,
                        machine.environment())
                .probe(Device.hip(0));
    }

    @Test
    void aHiveIsAllThatItShouldBe() {
        ProbeReport report = AmdMachine.oneHive(8).probe(3);
        assertThat(report.checks()).extracting(Check::status).containsOnly(Status.PASS);
        assertThat(check(report, "EP-ROC-002").detail()).contains("amdgpu 6.12.12", "8 GPUs", "/dev/kfd");
        assertThat(check(report, "EP-ROC-003").detail()).isEqualTo("HIP 6.4, 8 GPUs visible");
        assertThat(check(report, "EP-ROC-005").detail())
                .contains("xGMI, 1 hop, peer access: hip:0 - hip:1, ", "and 24 more pairs");
        assertThat(check(report, "EP-ROC-007").detail()).contains("KFD has 8 GPUs: 8 XCDs each, 1 hive of 8");
        assertThat(check(report, "EP-ROC-008").detail()).contains("uncached", "xGMI");
        assertThat(check(report, "EP-ROC-009").detail()).contains("no GPU");
        assertThat(report.facts())
                .containsEntry("gpu", "0000:13:00.0")
                .containsEntry("architecture", "gfx942")
                .containsEntry("denied", "")
                .containsEntry("pci", "")
                .hasEntrySatisfying("xgmi", text -> assertThat(text).startsWith("0000:10:00.0/1,0000:11:00.0/1"));
    }

    @Test
    void twoHivesHavePciBetweenThem() {
        ProbeReport report = AmdMachine.of(List.of(1, 1, 2, 2), 1).probe(0);
        assertThat(check(report, "EP-ROC-005").detail()).contains("PCIe, peer access: hip:0 - hip:2");
        assertThat(check(report, "EP-ROC-007").detail()).contains("2 hives of 2");
        assertThat(check(report, "EP-ROC-008").status()).isEqualTo(Status.PASS);
        assertThat(check(report, "EP-ROC-009").detail()).contains("hip:2, hip:3", "tests the order of writes");
    }

    @Test
    void fineGrainedMemoryOverPciWantsItsVariable() {
        AmdMachine host = AmdMachine.of(List.of(0, 0), 1);
        Check warned = check(host.probe(0), "EP-ROC-008");
        assertThat(warned.status()).isEqualTo(Status.WARN);
        assertThat(warned.remedy()).contains("HSA_FORCE_FINE_GRAIN_PCIE=1");
        assertThat(check(host.with("HSA_FORCE_FINE_GRAIN_PCIE", "1").probe(0), "EP-ROC-008")
                        .status())
                .isEqualTo(Status.PASS);
        assertThat(check(AmdMachine.of(List.of(1, 2), 1).probe(0), "EP-ROC-008").detail())
                .contains("fine-grained");
    }

    @Test
    void partitionsAreCountedAndTheirModesRead() {
        AmdMachine host = AmdMachine.of(List.of(1, 1), 8);
        Map<String, String> files = new TreeMap<>(((AmdMachine.Memory) host.files()).files());
        files.put("/sys/bus/pci/devices/0000:10:00.0/current_compute_partition", "CPX");
        files.put("/sys/bus/pci/devices/0000:10:00.0/current_memory_partition", "NPS4");
        ProbeReport report = probe(host, new AmdMachine.Memory(files), file -> true);
        assertThat(check(report, "EP-ROC-007").detail())
                .contains("16 GPUs: partitions of 2 devices, 8 each (CPX, NPS4), 1 XCDs each, 1 hive of 16");
    }

    @Test
    void partitionsThatCannotBeDistinguishedAreRefused() {
        AmdMachine host = AmdMachine.of(List.of(1, 1), 4).withoutFunctions();
        assertThat(host.probe(0).usable()).isTrue();
        for (List<Integer> shown : List.of(List.of(2), List.of(1, 2), List.of(4, 5, 6))) {
            ProbeReport report = host.showing(shown).probe(0);
            assertThat(report.usable()).isFalse();
            assertThat(check(report, "EP-ROC-004").detail())
                    .contains("all of these partitions have this address", "it is unknown which partition");
            assertThat(check(report, "EP-ROC-009").status()).isEqualTo(Status.NOT_RUN);
        }
        // Without KFD their number is unknown, but two of one address are partitions.
        assertThat(host.unreadable().showing(List.of(0, 1)).probe(0).usable()).isFalse();
    }

    @Test
    void hiddenGpusWarn() {
        ProbeReport report = AmdMachine.oneHive(4).showing(List.of(3, 1)).probe(0);
        assertThat(report.facts())
                .containsEntry("gpu", "0000:13:00.0")
                .containsEntry("gpus", "1=0000:11:00.0,3=0000:13:00.0");
        Check visible = check(report, "EP-ROC-007");
        assertThat(visible.status()).isEqualTo(Status.WARN);
        assertThat(visible.detail()).contains("2 GPUs visible", "KFD has 4 GPUs");
        assertThat(visible.remedy()).contains("ROCR_VISIBLE_DEVICES", "ep.device");
    }

    @Test
    void missingAccessWarns() {
        Check pairs = check(AmdMachine.oneHive(3).denying(0, 2).probe(0), "EP-ROC-005");
        assertThat(pairs.status()).isEqualTo(Status.WARN);
        assertThat(pairs.detail()).contains("hip:0 has no peer access to hip:2", "one way only: hip:0 - hip:2");
    }

    @Test
    void theDriverAndItsDevicesAreChecked() {
        AmdMachine host = AmdMachine.oneHive(2);
        Check closed = check(probe(host, host.files(), file -> !file.equals("/dev/kfd")), "EP-ROC-002");
        assertThat(closed.status()).isEqualTo(Status.FAIL);
        assertThat(closed.remedy()).contains("render");
        Check node = check(probe(host, host.files(), file -> !file.endsWith("renderD129")), "EP-ROC-002");
        assertThat(node.status()).isEqualTo(Status.WARN);
        assertThat(node.detail()).contains("/dev/dri/renderD129").doesNotContain("renderD128");
        Check none = check(probe(host, new AmdMachine.Memory(Map.of()), file -> false), "EP-ROC-002");
        assertThat(none.status()).isEqualTo(Status.WARN);
        assertThat(none.remedy()).contains("modprobe amdgpu", "--device /dev/kfd");
    }

    @Test
    void theGpuMustExist() {
        ProbeReport report = AmdMachine.oneHive(2).probe(2);
        assertThat(report.usable()).isFalse();
        assertThat(check(report, "EP-ROC-004").detail()).contains("hip:2 does not exist", "2 GPUs");
    }

    @Test
    void withoutHipItSaysSo() {
        ProbeReport report = new RocmProbe(
                        new RocmProvider(),
                        () -> {
                            throw new EpUnavailableException("HIP 5.2 is older than 5.7; install ROCm 5.7 or newer");
                        },
                        () -> AmdMachine.oneHive(1).topology(),
                        () -> AmdMachine.PROCESS,
                        AmdMachine.oneHive(1).files(),
                        file -> true,
                        Map.of())
                .probe(Device.hip(0));
        assertThat(report.usable()).isFalse();
        assertThat(check(report, "EP-ROC-003").detail()).contains("5.2 is older");
        assertThat(check(report, "EP-ROC-002").status()).isEqualTo(Status.PASS);
        assertThat(check(report, "EP-ROC-004").status()).isEqualTo(Status.NOT_RUN);
    }

    @Test
    void aMachineThatCannotBeReadIsNoFailure() {
        AmdMachine host = AmdMachine.oneHive(2);
        ProbeReport report = new RocmProbe(
                        new RocmProvider(),
                        host::shown,
                        () -> {
                            throw new TopologyException("broken on purpose");
                        },
                        host::process,
                        host.files(),
                        file -> true,
                        Map.of())
                .probe(Device.hip(1));
        assertThat(report.usable()).isTrue();
        assertThat(report.facts()).containsEntry("gpus", "-1=0000:10:00.0,-1=0000:11:00.0");
    }

    @ParameterizedTest
    @ValueSource(strings = {"host", "cuda:0"})
    void otherDevicesAreNotChecked(String device) {
        ProbeReport report = new RocmProbe(
                        new RocmProvider(),
                        () -> {
                            throw new AssertionError("HIP was loaded for another device");
                        },
                        () -> {
                            throw new AssertionError("the machine was read for another device");
                        },
                        () -> AmdMachine.PROCESS,
                        new AmdMachine.Memory(Map.of()),
                        file -> false,
                        Map.of())
                .probe(Device.parse(device));
        assertThat(report.usable()).isFalse();
        assertThat(check(report, "EP-ROC-001").remedy()).contains("host-shm", "ipc-nvlink");
        assertThat(report.facts()).isEmpty();
    }

    @Test
    void oneGpuAloneIsFine() {
        VisibleGpus one = AmdMachine.oneHive(1).shown();
        assertThat(one.all()).hasSize(1);
        ProbeReport report = AmdMachine.oneHive(1).probe(0);
        assertThat(check(report, "EP-ROC-005").detail()).contains("sees one GPU");
        assertThat(check(report, "EP-ROC-008").detail()).contains("uncached");
    }

    @Test
    void theProviderProbesThisMachineWithoutThrowing() {
        RocmProvider provider = new RocmProvider();
        ProbeRequest request = ProbeRequest.of(
                Device.hip(0), EpConfig.builder(Map.of(), Map.of()).build(), Duration.ofSeconds(20));
        ProbeReport report = provider.probe(request);
        assertThat(report.checks()).extracting(Check::code).containsExactlyElementsOf(CODES);
        assertThat(report.failures())
                .allSatisfy(check -> assertThat(check.remedy()).isNotEmpty());
        assertThat(provider.probe(request).facts()).isEqualTo(report.facts());
    }
}
