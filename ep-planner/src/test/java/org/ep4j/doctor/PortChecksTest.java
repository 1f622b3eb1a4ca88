package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NicPort.State;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class PortChecksTest {
    @TempDir
    private Path root;

    private FakeSystem two(NicPort first, NicPort second) {
        return FakeSystem.plain(root).farNic("mlx5_0", NicFamily.MLX5, first).farNic("mlx5_1", NicFamily.MLX5, second);
    }

    private static NicPort port(State state, double rate) {
        return FakeSystem.port(state, rate, FakeSystem.INFINIBAND);
    }

    @ParameterizedTest
    @CsvSource({"ACTIVE, ACTIVE, PASS", "ACTIVE, DOWN, WARN", "DOWN, DOWN, FAIL", "UNKNOWN, UNKNOWN, NOT_RUN"})
    void onePortDownIsAWarningAllDownAFailure(State first, State second, Status status) {
        assertThat(two(port(first, 400), port(second, 400))
                        .check(DoctorCode.PORT_DOWN)
                        .status())
                .isEqualTo(status);
    }

    @Test
    void aPortThatIsDownIsNamed() {
        assertThat(two(port(State.ACTIVE, 400), port(State.DOWN, 400))
                        .check(DoctorCode.PORT_DOWN)
                        .detail())
                .isEqualTo("down: mlx5_1:1");
    }

    @Test
    void ratesThatDifferAreNamedWithTheirPorts() {
        Check check = two(port(State.ACTIVE, 400), port(State.ACTIVE, 200)).check(DoctorCode.PORT_RATES);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail()).isEqualTo("200 Gb/s: mlx5_1:1; 400 Gb/s: mlx5_0:1");
    }

    @Test
    void theRateOfAPortThatIsDownDoesNotCount() {
        assertThat(two(port(State.ACTIVE, 400), port(State.DOWN, 10))
                        .check(DoctorCode.PORT_RATES)
                        .status())
                .isEqualTo(Status.PASS);
    }

    private static NicPort roce(State state, int mtu) {
        return new NicPort(1, state, NicReach.LinkLayer.ETHERNET, 400, mtu, 0, "eth0", List.of());
    }

    @Test
    void mtusThatDifferAreNamedWithTheirPorts() {
        Check check = two(roce(State.ACTIVE, 4096), roce(State.ACTIVE, 1024)).check(DoctorCode.PORT_MTUS);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail()).isEqualTo("1024 bytes: mlx5_1:1; 4096 bytes: mlx5_0:1");
    }

    @Test
    void mtusThatAreEqualOrOfPortsThatAreDownOrUnknownAreFine() {
        assertThat(two(roce(State.ACTIVE, 4096), roce(State.DOWN, 1024))
                        .check(DoctorCode.PORT_MTUS)
                        .status())
                .isEqualTo(Status.PASS);
        assertThat(two(roce(State.ACTIVE, 4096), roce(State.ACTIVE, 0))
                        .check(DoctorCode.PORT_MTUS)
                        .detail())
                .isEqualTo("4096 bytes: mlx5_0:1");
        assertThat(two(port(State.ACTIVE, 400), port(State.ACTIVE, 400))
                        .check(DoctorCode.PORT_MTUS)
                        .status())
                .isEqualTo(Status.NOT_APPLICABLE);
    }

    @Test
    void ratesAreNotMissedWhereAllPortsAreDown() {
        assertThat(two(port(State.DOWN, 10), port(State.DOWN, 10))
                        .check(DoctorCode.PORT_RATES)
                        .detail())
                .contains("no active port");
    }

    @ParameterizedTest
    @CsvSource({
        "NCCL_IB_HCA, mlx5, PASS",
        "NCCL_IB_HCA, '=mlx5_0,mlx5_1:1', PASS",
        "NCCL_IB_HCA, '^mlx5_7', WARN",
        "NCCL_IB_HCA, '=mlx5', WARN",
        "NVSHMEM_HCA_LIST, 'ibp3s0:1', WARN",
    })
    void aListThatNamesAMissingNicIsAWarning(String variable, String list, Status status) {
        FakeSystem system = two(port(State.ACTIVE, 400), port(State.ACTIVE, 400));
        system.environment.put(variable, list);
        assertThat(system.check(DoctorCode.NIC_NAMES).status()).isEqualTo(status);
    }

    @ParameterizedTest
    @CsvSource({"MLX5, PASS", "EFA, PASS", "IONIC, PASS", "RXE, WARN", "SIW, WARN", "CXI, WARN", "OTHER_RDMA, WARN"})
    void familiesWithLimitsAreReported(NicFamily family, Status status) {
        assertThat(FakeSystem.plain(root)
                        .farNic("nic", family, port(State.ACTIVE, 100))
                        .check(DoctorCode.NIC_FAMILY)
                        .status())
                .isEqualTo(status);
    }

    @Test
    void aNicThatManagesTheMachineIsNoneOfThose() {
        for (boolean assigned : new boolean[] {true, false}) {
            FakeSystem system = FakeSystem.nvidia(root.resolve("assigned-" + assigned))
                    .farNic("mlx5_8", NicFamily.MLX5, port(State.ACTIVE, 25))
                    .farNic("mlx5_9", NicFamily.MLX5, port(State.DOWN, 25));
            if (!assigned) {
                system.nics.clear();
            }
            assertThat(system.check(DoctorCode.PORT_RATES).detail()).isEqualTo("all have 400 Gb/s");
            assertThat(system.check(DoctorCode.PORT_DOWN).status()).isEqualTo(Status.PASS);
        }
    }

    @Test
    void aNicOfAGpuThatThePlanLeftOutBecauseItIsDownIsStillReported() {
        FakeSystem system = FakeSystem.nvidia(root).nic(7, "mlx5_8", NicFamily.MLX5, port(State.DOWN, 400));
        assertThat(system.check(DoctorCode.PORT_DOWN).status()).isEqualTo(Status.WARN);
        assertThat(system.check(DoctorCode.PORT_DOWN).detail()).isEqualTo("down: mlx5_8:1");
    }
}
