package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class DeviceLocalityTest {
    private static final Map<String, String> TWO_NODES = Map.of(
            "/sys/devices/system/node/node0/cpulist", "0-3,8-11",
            "/sys/devices/system/node/node1/cpulist", "4-7,12-15");

    @Test
    void aProcessWithTheMemoryOfOneNodeIsThere() {
        assertThat(host("Mems_allowed_list:\t1\nCpus_allowed_list:\t0-15").numa())
                .isEqualTo(1);
    }

    @Test
    void aProcessWithProcessorsOfOneNodeIsThere() {
        assertThat(host("Mems_allowed_list:\t0-1\nCpus_allowed_list:\t5-6,12").numa())
                .isEqualTo(1);
    }

    @Test
    void aProcessOnSeveralNodesIsOnNone() {
        assertThat(host("Mems_allowed_list:\t0-1\nCpus_allowed_list:\t3-4").numa())
                .isEqualTo(-1);
        assertThat(host("").numa()).isEqualTo(-1);
    }

    @Test
    void aGpuHasItsPlaceAndItsDomain() {
        DeviceLocality around = DeviceLocality.of(
                Device.parse("cuda:0"),
                Optional.empty(),
                -1,
                new RecordedFiles(Map.of("/dev/nvidia-caps-imex-channels/channel0", "")),
                DeviceLocalityTest::twoGpus,
                Map.of("CUDA_VISIBLE_DEVICES", "1"));

        assertThat(around.locality().gpu()).isEqualTo(1);
        assertThat(around.locality().architecture()).isEqualTo("sm_100");
        assertThat(around.domain()).isEqualTo("cluster/7");
    }

    @Test
    void theAddressOfTheDriverTakesPrecedenceOverTheEnvironment() {
        DeviceLocality around = DeviceLocality.of(
                Device.parse("cuda:0"),
                Optional.of(new PciAddress(0, 0x11, 0, 0)),
                -1,
                new RecordedFiles(Map.of()),
                DeviceLocalityTest::twoGpus,
                Map.of("CUDA_VISIBLE_DEVICES", "0"));

        assertThat(around.locality().gpu()).isEqualTo(1);
    }

    @Test
    void aGpuWhosePlaceTheTopologyLacksHasTheNicsOfTheHost() {
        DeviceLocality around = DeviceLocality.of(
                Device.parse("cuda:0"),
                Optional.of(new PciAddress(0, 0x99, 0, 0)),
                -1,
                new RecordedFiles(Map.of()),
                DeviceLocalityTest::twoGpus,
                Map.of());

        assertThat(around).isEqualTo(hostOf(twoGpus()));
        assertThat(around.locality().nics()).hasSize(1);
    }

    @Test
    void withoutAChannelNoDomainReachesBeyondTheHost() {
        DeviceLocality around = DeviceLocality.of(
                Device.parse("cuda:0"),
                Optional.empty(),
                -1,
                new RecordedFiles(Map.of()),
                DeviceLocalityTest::twoGpus,
                Map.of());

        assertThat(around.locality().gpu()).isZero();
        assertThat(around.domain()).isEmpty();
    }

    @Test
    void aGpuThatCannotBeFoundHasTheNicsOfTheHost() {
        DeviceLocality around = DeviceLocality.of(
                Device.parse("cuda:2"),
                Optional.empty(),
                -1,
                new RecordedFiles(Map.of()),
                DeviceLocalityTest::twoGpus,
                Map.of());

        assertThat(around).isEqualTo(hostOf(twoGpus()));
    }

    @Test
    void aMachineThatCannotBeReadIsUnknown() {
        DeviceLocality around = DeviceLocality.of(
                Device.parse("hip:0"),
                Optional.empty(),
                -1,
                new RecordedFiles(Map.of()),
                () -> {
                    throw new TopologyException("broken on purpose");
                },
                Map.of());

        assertThat(around).isEqualTo(DeviceLocality.UNKNOWN);
    }

    @Test
    void theHostDeviceDoesNotAskTheLibrariesOfGpus() {
        DeviceLocality around = DeviceLocality.of(
                Device.HOST,
                Optional.empty(),
                -1,
                new RecordedFiles(TWO_NODES),
                () -> {
                    throw new AssertionError("asked");
                },
                Map.of());

        assertThat(around.locality().gpu()).isEqualTo(-1);
    }

    private static Locality host(String status) {
        Map<String, String> files = new HashMap<>(TWO_NODES);
        files.put("/proc/self/status", status);
        return DeviceLocality.of(
                        Device.HOST,
                        Optional.empty(),
                        -1,
                        new RecordedFiles(files),
                        DeviceLocalityTest::twoGpus,
                        Map.of())
                .locality();
    }

    private static DeviceLocality hostOf(Topology topology) {
        return new DeviceLocality(Localities.ofHost(topology, 0, -1, -1), "");
    }

    private static Topology twoGpus() {
        Topology.Builder builder = Topology.builder("test");
        int host = builder.host("");
        for (int i = 0; i < 2; i++) {
            builder.add(Gpu.builder(host, i, GpuVendor.NVIDIA)
                    .address(Optional.of(new PciAddress(0, 0x10 + i, 0, 0)))
                    .architecture("sm_100")
                    .numa(0)
                    .clique("cluster/7")
                    .build());
        }
        builder.add(new Nic(
                host,
                "mlx5_0",
                Optional.empty(),
                PciId.UNKNOWN,
                NicFamily.MLX5,
                "mlx5_core",
                "mlx5_0",
                -1,
                Optional.empty(),
                true,
                List.of()));
        return builder.build();
    }
}
