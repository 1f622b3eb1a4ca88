package org.ep4j.tck.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class RocePortTest {
    @TempDir
    private Path nics;

    private void port(String nic, int number, String device, String state) throws IOException {
        Path files = Files.createDirectories(nics.resolve(nic).resolve("ports").resolve(Integer.toString(number)));
        Files.writeString(files.resolve("state"), state + "\n");
        if (!device.isEmpty()) {
            Path devices = Files.createDirectories(files.resolve("gid_attrs").resolve("ndevs"));
            Files.writeString(devices.resolve("0"), device + "\n");
        }
    }

    @Test
    void knowsWhetherAPortIsActive() throws IOException {
        port("mlx5_0", 1, "eth8", "4: ACTIVE");
        port("mlx5_0", 2, "eth9", "1: DOWN");
        assertThat(RocePort.of(nics, "mlx5_0:1").orElseThrow().isActive()).isTrue();
        RocePort down = RocePort.of(nics, "mlx5_0:2").orElseThrow();
        assertThat(down.isActive()).isFalse();
        down.await(false, Duration.ZERO);
        assertThatThrownBy(() -> down.await(true, Duration.ZERO))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("port mlx5_0:2 is not active 0 s after its network device eth9 was set up");
    }

    @Test
    void refusesRanksThatCannotLoseAPort() throws IOException {
        port("mlx5_0", 1, "eth8", "4: ACTIVE");
        port("mlx5_1", 1, "eth9", "4: ACTIVE");
        port("mlx5_2", 1, "", "4: ACTIVE");
        assertThat(RocePort.refusal(nics, List.of("mlx5_0:1"), Set.of()))
                .hasValueSatisfying(why -> assertThat(why).contains("needs a second port", "[mlx5_0:1]"));
        for (String other : List.of("mlx5_2:1", "mlx5_3:1")) {
            assertThat(RocePort.refusal(nics, List.of("mlx5_0:1", other), Set.of()))
                    .hasValueSatisfying(why -> assertThat(why).contains("with a network device", other));
        }
        assertThat(RocePort.refusal(nics, List.of("mlx5_0:1", "mlx5_1:1"), Set.of("eth9")))
                .hasValueSatisfying(why -> assertThat(why).contains("default route", "eth9 of mlx5_1:1"));
    }

    /** These devices do not exist, so that also root cannot set them up. */
    @Test
    void refusesDevicesThatThisProcessCannotSetUp() throws IOException {
        port("mlx5_0", 1, "ep4j-none-0", "4: ACTIVE");
        port("mlx5_1", 1, "ep4j-none-1", "4: ACTIVE");
        assertThat(RocePort.refusal(nics, List.of("mlx5_0:1", "mlx5_1:1"), Set.of()))
                .hasValueSatisfying(why -> assertThat(why).contains("CAP_NET_ADMIN"));
    }
}
