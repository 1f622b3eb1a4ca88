package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.PciId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class TrafficChecksTest {
    private static final String NCCL = "/usr/lib/x86_64-linux-gnu/libnccl.so.";

    @TempDir
    private Path root;

    private FakeSystem withNccl(String version) {
        FakeSystem system = FakeSystem.nvidia(root).remove(NCCL + "2.27.3").file(NCCL + version, "");
        system.environment.remove("NCCL_RUNTIME_CONNECT");
        return system;
    }

    @Test
    void lazyConnectionsOfNcclAreAWarningWithTheEnvironmentForNicsOfOnePort() {
        Check check = withNccl("2.22.3").check(DoctorCode.NCCL_LAZY_CONNECT);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.remedy())
                .contains(
                        "one port",
                        "NCCL_RUNTIME_CONNECT=0",
                        "NCCL_NVLS_ENABLE=0",
                        "NCCL_IB_QPS_PER_CONNECTION=4",
                        "NCCL_MAX_NCHANNELS=4");
    }

    @Test
    void nicsOfTwoPortsNeedOnlyOneOfThem() {
        NicPort port = FakeSystem.port(NicPort.State.ACTIVE, 200, FakeSystem.INFINIBAND);
        NicPort second = new NicPort(
                2,
                port.state(),
                port.linkLayer(),
                port.gigabitsPerSecond(),
                port.activeMtu(),
                port.lid(),
                port.netdev(),
                port.gids());
        FakeSystem system = withNccl("2.27.3").nic(0, "mlx5_8", NicFamily.MLX5, port, second);
        assertThat(system.check(DoctorCode.NCCL_LAZY_CONNECT).remedy())
                .contains("two ports", "NCCL_RUNTIME_CONNECT=0")
                .doesNotContain("NCCL_MAX_NCHANNELS");
    }

    @Test
    void aNicOfTwoPortsThatManagesTheMachineDoesNotDecideTheAdvice() {
        NicPort port = FakeSystem.port(NicPort.State.ACTIVE, 25, FakeSystem.ROCE_V2);
        FakeSystem system = withNccl("2.27.3").farNic("mlx5_bond_0", NicFamily.MLX5, port, port);
        assertThat(system.check(DoctorCode.NCCL_LAZY_CONNECT).remedy()).contains("one port", "NCCL_MAX_NCHANNELS=4");
        system.nics.clear();
        assertThat(system.check(DoctorCode.NCCL_LAZY_CONNECT).remedy()).contains("one port", "NCCL_MAX_NCHANNELS=4");
        assertThat(system.check(DoctorCode.TRAFFIC_CLASSES).status()).isEqualTo(Status.PASS);
    }

    @Test
    void blueField3DoesNotMindLazyConnections() {
        PciId blueField = new PciId(0x15b3, 0xa2dc, -1, -1, 0x020700);
        NicPort port = FakeSystem.port(NicPort.State.ACTIVE, 400, FakeSystem.INFINIBAND);
        FakeSystem system =
                FakeSystem.plain(root).file(NCCL + "2.27.3", "").nic(0, "mlx5_0", NicFamily.MLX5, blueField, port);
        assertThat(system.check(DoctorCode.NCCL_LAZY_CONNECT).detail()).contains("BlueField-3");
        assertThat(system.nic(1, "mlx5_1", NicFamily.MLX5, port)
                        .check(DoctorCode.NCCL_LAZY_CONNECT)
                        .status())
                .isEqualTo(Status.WARN);
    }

    @Test
    void olderNcclAndTheVariableAreFine() {
        assertThat(withNccl("2.21.5").check(DoctorCode.NCCL_LAZY_CONNECT).status())
                .isEqualTo(Status.PASS);
        assertThat(FakeSystem.nvidia(root.resolve("b"))
                        .check(DoctorCode.NCCL_LAZY_CONNECT)
                        .status())
                .isEqualTo(Status.PASS);
    }

    @ParameterizedTest
    @CsvSource({"1, '', PASS", "0, '', WARN", "0, 1, PASS", "2, 2, WARN", "'', 3, WARN", "'', '', NOT_RUN"})
    void oneServiceLevelForBothIsAWarning(String ours, String theirs, Status status) {
        FakeSystem system = FakeSystem.nvidia(root);
        system.settings.remove("ep.nic.service-level");
        if (!ours.isEmpty()) {
            system.settings.put("ep.nic.service-level", ours);
        }
        system.environment.put("NCCL_IB_SL", theirs);
        assertThat(system.check(DoctorCode.TRAFFIC_CLASSES).status()).isEqualTo(status);
    }

    @Test
    void onRoceItIsTheTrafficClass() {
        FakeSystem system = FakeSystem.plain(root)
                .farNic("mlx5_0", NicFamily.MLX5, FakeSystem.port(NicPort.State.ACTIVE, 400, FakeSystem.ROCE_V2))
                .file(NCCL + "2.21.5", "");
        Check open = system.check(DoctorCode.TRAFFIC_CLASSES);
        assertThat(open.status()).isEqualTo(Status.NOT_RUN);
        assertThat(open.detail()).contains("neither ep.nic.traffic-class nor NCCL_IB_TC");
        assertThat(open.remedy()).isEqualTo(DoctorCode.TRAFFIC_CLASSES.remedy());
        system.settings.put("ep.nic.traffic-class", "0");
        assertThat(system.check(DoctorCode.TRAFFIC_CLASSES).detail()).contains("traffic class 0");
        system.settings.put("ep.nic.traffic-class", "104");
        assertThat(system.check(DoctorCode.TRAFFIC_CLASSES).status()).isEqualTo(Status.PASS);
    }

    @Test
    void adaptiveRoutingCannotBeAskedButIsAdvisedOn() {
        Check check = FakeSystem.nvidia(root).check(DoctorCode.ADAPTIVE_ROUTING);
        assertThat(check.status()).isEqualTo(Status.NOT_RUN);
        assertThat(check.remedy()).contains("heavy load");
    }
}
