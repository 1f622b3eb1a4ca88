package org.ep4j.tck.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.assertj.core.api.AbstractStringAssert;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class RocePortTest {
    @TempDir
    private Path root;

    private void port(String nic, int number, String device, String state) throws IOException {
        Path files = Files.createDirectories(root.resolve("sys/class/infiniband")
                .resolve(nic)
                .resolve("ports")
                .resolve(Integer.toString(number)));
        Files.writeString(files.resolve("state"), state + "\n");
        if (!device.isEmpty()) {
            Path devices = Files.createDirectories(files.resolve("gid_attrs").resolve("ndevs"));
            Files.writeString(devices.resolve("0"), device + "\n");
            Files.createDirectories(root.resolve("sys/class/net").resolve(device));
        }
    }

    private void routes(String... lines) throws IOException {
        Path file = root.resolve("proc/net/route");
        Files.createDirectories(file.getParent());
        Files.writeString(
                file,
                "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
                        + String.join("\n", lines));
    }

    private AbstractStringAssert<?> refusal(String... ports) {
        return assertThat(RocePort.refusal(root, List.of(ports)).orElse(""));
    }

    @Test
    void knowsWhetherAPortIsActive() throws IOException {
        port("mlx5_0", 1, "eth8", "4: ACTIVE");
        port("mlx5_0", 2, "eth9", "1: DOWN");
        assertThat(RocePort.of(root, "mlx5_0:1").orElseThrow().isActive()).isTrue();
        RocePort down = RocePort.of(root, "mlx5_0:2").orElseThrow();
        assertThat(down.isActive()).isFalse();
        down.await(false, Duration.ZERO, () -> false);
        down.await(true, Duration.ZERO, () -> true);
        assertThatThrownBy(() -> down.await(true, Duration.ZERO, () -> false))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("port mlx5_0:2 is not active 0 s after its network device eth9 was brought up");
    }

    @Test
    void refusesRanksThatCannotLoseAPort() throws IOException {
        routes("eth8\t00000000\t010200C0\t0003\t0\t0\t0\tFFFFFFFF\t0\t0\t0");
        port("mlx5_0", 1, "eth8", "4: ACTIVE");
        port("mlx5_0", 2, "eth8", "4: ACTIVE");
        port("mlx5_2", 1, "", "4: ACTIVE");
        for (String other : List.of("mlx5_2:1", "mlx5_3:1")) {
            refusal("mlx5_0:1", other).contains("port " + other + " has no network device");
        }
        refusal("mlx5_0:1").contains("[mlx5_0:1] of a rank belong to 1 network devices, must be >= 2");
        refusal("mlx5_0:1", "mlx5_0:2").contains("of a rank belong to 1 network devices, must be >= 2");
    }

    @Test
    void refusesNetworkDevicesThatTheMachineNeeds() throws IOException {
        port("mlx5_0", 1, "eth8", "4: ACTIVE");
        port("mlx5_1", 1, "eth9", "4: ACTIVE");
        refusal("mlx5_0:1", "mlx5_1:1").contains("eth8 of port mlx5_0:1 may be needed", "proc/net/route");
        routes("eth9\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0");
        refusal("mlx5_0:1", "mlx5_1:1").contains("eth9 of port mlx5_1:1 has a default route", "ep.nic.exclude");
        Files.createDirectories(root.resolve("sys/class/net/eth8/upper_bond0"));
        refusal("mlx5_0:1", "mlx5_1:1")
                .contains("eth8 of port mlx5_0:1 is part of another network device (upper_bond0)");
    }

    @Test
    void saysWhyNetworkDevicesCannotBeSetUp() throws IOException {
        routes();
        port("mlx5_0", 1, "ep4j-none-0", "4: ACTIVE");
        port("mlx5_1", 1, "ep4j-none-1", "4: ACTIVE");
        refusal("mlx5_0:1", "mlx5_1:1")
                .contains("[ep4j-none-0, ep4j-none-1] cannot be brought up", "exit code", "CAP_NET_ADMIN");
    }
}
