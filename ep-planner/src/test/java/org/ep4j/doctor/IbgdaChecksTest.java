package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.NicFamily;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class IbgdaChecksTest {
    @TempDir
    private Path root;

    @ParameterizedTest
    @CsvSource({
        "1, auto, PASS, PASS",
        "1, gpu, PASS, PASS",
        "1, cpu, PASS, WARN",
        "0, auto, WARN, WARN",
        "0, gpu, FAIL, WARN",
        "0, cpu, PASS, WARN",
    })
    void theOverrideIsNeededWhereTheGpuIsTheHandler(int override, String handler, Status mapping, Status works) {
        FakeSystem system = FakeSystem.nvidia(root)
                .file("/proc/driver/nvidia/params", "RegistryDwords: \"PeerMappingOverride=" + override + ";\"");
        system.environment.put("NVSHMEM_IBGDA_NIC_HANDLER", handler);
        assertThat(system.check(DoctorCode.PEER_MAPPING).status()).isEqualTo(mapping);
        assertThat(system.check(DoctorCode.NIC_HANDLER).status()).isEqualTo(works);
    }

    @Test
    void theProcessorAsHandlerFailsWithOldNvshmemWithoutGdrcopy() {
        FakeSystem system = FakeSystem.nvidia(root).remove("/usr/lib/x86_64-linux-gnu/libnvshmem_host.so.3.4.5");
        system.file("/usr/lib/x86_64-linux-gnu/libnvshmem_host.so.3.3.20", "");
        system.environment.put("NVSHMEM_IBGDA_NIC_HANDLER", "cpu");
        Check check = system.check(DoctorCode.NIC_HANDLER);
        assertThat(check.status()).isEqualTo(Status.FAIL);
        assertThat(check.detail()).contains("3.3.20", "/dev/gdrdrv");
        system.file("/dev/gdrdrv", "");
        assertThat(system.check(DoctorCode.NIC_HANDLER).status()).isEqualTo(Status.WARN);
    }

    @Test
    void withoutTheDriversParametersItIsNotRun() {
        FakeSystem system = FakeSystem.nvidia(root).remove("/proc/driver/nvidia/params");
        assertThat(system.check(DoctorCode.PEER_MAPPING).status()).isEqualTo(Status.NOT_RUN);
        assertThat(system.check(DoctorCode.PEER_MAPPING).remedy()).isNotEmpty();
    }

    @Test
    void ibgdaWithoutMlx5Fails() {
        FakeSystem system = FakeSystem.amd(root, "gfx942", NicFamily.BNXT);
        system.environment.put("NVSHMEM_IB_ENABLE_IBGDA", "1");
        assertThat(system.check(DoctorCode.IBGDA_NICS).status()).isEqualTo(Status.FAIL);
    }

    @ParameterizedTest
    @CsvSource({"ibrc, PASS", "none, PASS", "ibgda, WARN", "'', NOT_APPLICABLE"})
    void aTransportThatNvshmemDoesNotKnowIsAWarning(String transport, Status status) {
        FakeSystem system = FakeSystem.nvidia(root);
        system.environment.put("NVSHMEM_REMOTE_TRANSPORT", transport);
        assertThat(system.check(DoctorCode.REMOTE_TRANSPORT).status()).isEqualTo(status);
    }
}
