package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.topology.Distance;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class TextReadersTest {
    @Test
    void aMatrixOfHundredsOfGpusIsRead() {
        int gpus = 700;
        String names = IntStream.range(0, gpus).mapToObj(i -> "GPU" + i).collect(Collectors.joining("\t"));
        String rows = IntStream.range(0, gpus)
                .mapToObj(row -> IntStream.range(0, gpus)
                        .mapToObj(column -> row == column ? "X" : row / 8 == column / 8 ? "NV18" : "SYS")
                        .collect(Collectors.joining("\t", "GPU" + row + "\t", "\n")))
                .collect(Collectors.joining());
        Topology machine = Topologies.read("matrix", "\t" + names + "\n" + rows);
        assertThat(machine.gpus()).hasSize(gpus);
        assertThat(type(machine, 699, machine.gpus().get(696))).isEqualTo(PathType.NVL);
        assertThat(type(machine, 699, machine.gpus().get(0))).isEqualTo(PathType.SYS);
    }

    /** An ibv_devinfo older than a speed or width prints "invalid" and the code. */
    @ParameterizedTest
    @CsvSource({
        "4X (2), 100.0 Gbps (128), 400",
        "4X (2), invalid speed (128), 400",
        "4X (2), invalid speed (256), 800",
        "invalid width (16), 50.0 Gbps (64), 100",
        "invalid width (64), invalid speed (128), 0",
        "4X (2), invalid speed (512), 0",
    })
    void codesOfSpeedsAndWidthsCountWhereTheirNamesAreUnknown(String width, String speed, double rate) {
        String text = Texts.IBV_DEVINFO_VERBOSE
                .replace("4X (2)", width)
                .replace("100.0 Gbps (128)", speed)
                .replace("PORT_DOWN (1)", "PORT_ACTIVE (4)");
        Topology machine = Topologies.read("devinfo", text);
        assertThat(machine.nics().get(0).ports().get(0).gigabitsPerSecond()).isEqualTo(rate);
        assertThat(machine.warnings().stream()
                        .anyMatch(warning -> warning.startsWith("the rate of bnxt_re0:1 is not known")))
                .isEqualTo(rate == 0);
    }

    @Test
    void columnsOfAffinitiesMayComeFirst() {
        Topology tabs = Topologies.read("t", """
                \tCPU Affinity\tNUMA Affinity\tGPU0\tGPU1\tNIC0
                GPU0\t0-7\t0\tX\tNV4\tPIX
                GPU1\t8-15\t1\tNV4\tX\tSYS
                NIC0\t\t\tPIX\tSYS\tX
                """);
        Topology spaces = Topologies.read("t", """
                       CPU Affinity   NUMA Affinity   GPU0   GPU1   NIC0
                GPU0   0-7            0               X      NV4    PIX
                =====
                GPU1   8-15           1               NV4    X      SYS
                NIC0                                  PIX    SYS    X
                """);
        for (Topology machine : List.of(tabs, spaces)) {
            assertThat(machine.gpus()).extracting(Gpu::numa).containsExactly(0, 1);
            assertThat(machine.distance(machine.gpus().get(1), machine.nics().get(0)))
                    .hasValueSatisfying(way -> assertThat(way.type()).isEqualTo(PathType.SYS));
        }
    }

    @Test
    void rulersAndColoursAreNoMatter() {
        for (String text : List.of(Texts.NVIDIA_SMI, Texts.NVIDIA_SMI_OLD, Texts.NVIDIA_SMI_TABLE, Texts.ROCM_SMI)) {
            String ruled = text.lines()
                    .map(line -> line.isBlank() || line.startsWith("#")
                            ? line
                            : "\u001b[1;31m" + line + "\u001b[0m\n|---|:--|\n--------")
                    .collect(Collectors.joining("\n"));
            assertThat(Topologies.read("t", ruled).gpus())
                    .isEqualTo(Topologies.read("t", text).gpus());
        }
        assertThat(Topologies.read("t", Texts.IBV_DEVINFO.replace("mlx5_0", "\u001b[1mmlx5_0\u009b0m"))
                        .nics()
                        .get(0)
                        .name())
                .isEqualTo("mlx5_0");
    }

    @Test
    void theMatrixOfNvidiaSmiGivesPathTypesAndNames() {
        Topology machine = read(Texts.NVIDIA_SMI);

        assertThat(machine.gpus()).extracting(Gpu::numa).containsExactly(0, 0, 1);
        assertThat(machine.nics()).extracting(Nic::name).containsExactly("mlx5_0", "mlx5_bond_0");
        assertThat(type(machine, 0, machine.nics().get(0))).isEqualTo(PathType.PIX);
        assertThat(type(machine, 1, machine.nics().get(0))).isEqualTo(PathType.PXB);
        assertThat(type(machine, 2, machine.nics().get(1))).isEqualTo(PathType.PHB);
        assertThat(type(machine, 0, machine.gpus().get(2))).isEqualTo(PathType.NVL);
    }

    @Test
    void moreNvlinksThanAGpuHasEndInASwitch() {
        Topology machine = read(Texts.NVIDIA_SMI);

        Part between = machine.only(GpuSwitch.class).get(0);
        assertThat(machine.links(machine.gpus().get(0), between)).containsExactly(new Link(LinkType.NVLINK, 360, 18));
    }

    @Test
    void oldOutputNamesNicsInItsColumns() {
        Topology machine = read(Texts.NVIDIA_SMI_OLD);

        assertThat(machine.nics()).extracting(Nic::name).containsExactly("mlx5_0");
        assertThat(type(machine, 0, machine.nics().get(0))).isEqualTo(PathType.SYS);
        assertThat(machine.links(machine.gpus().get(0), machine.gpus().get(1)))
                .containsExactly(new Link(LinkType.NVLINK, 40, 2));
    }

    @Test
    void tablesOfMarkdownMayLackRowsOfNics() {
        Topology machine = read(Texts.NVIDIA_SMI_TABLE);

        assertThat(machine.nics()).singleElement().satisfies(nic -> {
            assertThat(nic.name()).isEqualTo("bnxt_re0");
            assertThat(nic.numa()).isEqualTo(1);
        });
        assertThat(type(machine, 1, machine.nics().get(0))).isEqualTo(PathType.SYS);
    }

    @Test
    void aMatrixThatEndsTooEarlyIsRefused() {
        String text = Texts.NVIDIA_SMI_OLD.lines().limit(2).reduce("", (a, b) -> a + b + "\n");

        assertThatThrownBy(() -> read(text))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("test, line 1: the matrix has columns but no rows for GPU1");
    }

    @Test
    void anUnknownPathTypeIsRefusedWithTheKnownOnes() {
        assertThatThrownBy(() -> read(Texts.NVIDIA_SMI_OLD.replace("PHB     20", "XXX     20")))
                .isInstanceOf(TopologyException.class)
                .hasMessage("test, line 3: GPU1 to mlx5_0 is \"XXX\"; known are X, NV#, PIX, PXB, PHB, NODE, SYS");
    }

    @Test
    void theTablesOfRocmSmiGiveLinksHopsAndNodes() {
        Topology machine = read(Texts.ROCM_SMI);
        List<Gpu> gpus = machine.gpus();

        assertThat(gpus).extracting(Gpu::numa).containsExactly(0, 1, 1);
        assertThat(machine.distance(gpus.get(0), gpus.get(1))).contains(new Distance(PathType.NVL, 0, 1));
        assertThat(machine.distance(gpus.get(0), gpus.get(2))).contains(new Distance(PathType.SYS, 0, 3));
        assertThat(machine.distance(gpus.get(1), gpus.get(2))).contains(new Distance(PathType.NODE, 0, 2));
    }

    @Test
    void weightsOfRocmSmiShowRoutedPairsThoughAllHopsAreOne() {
        String text = Texts.ROCM_SMI
                .replace("PCIE", "XGMI")
                .replace("72", "30")
                .replace("40", "15")
                .replaceAll("(GPU[02] .*1 {12})[23]", "$11")
                .replaceAll("(GPU2   )3 {12}2", "$11            1");
        Topology machine = read(text);
        List<Gpu> gpus = machine.gpus();

        assertThat(machine.distance(gpus.get(0), gpus.get(1)))
                .map(Distance::type)
                .contains(PathType.NVL);
        assertThat(machine.distance(gpus.get(0), gpus.get(2))).contains(new Distance(PathType.NVB, 0, 2));
        assertThat(machine.links(gpus.get(0), gpus.get(2))).isEmpty();
        assertThat(Localities.of(machine, gpus.get(0), -1).peer(2).orElseThrow().via())
                .containsExactly(1);
    }

    @Test
    void rocmSmiWithoutTheTableOfLinkTypesIsRefused() {
        String half = Texts.ROCM_SMI.substring(0, Texts.ROCM_SMI.indexOf("=============================== Link"));

        assertThatThrownBy(() -> read(half))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("\"Link Type between two GPUs\" is missing");
    }

    @Test
    void ibvDevinfoAloneIsAMachineOfNics() {
        Nic nic = read(Texts.IBV_DEVINFO).nics().get(0);

        assertThat(nic.id()).hasToString("15b3:1021");
        assertThat(nic.family()).isEqualTo(NicFamily.MLX5);
        assertThat(nic.ports())
                .containsExactly(new NicPort(
                        1, NicPort.State.ACTIVE, NicReach.LinkLayer.INFINIBAND, 0, 4096, 23, "", List.of()));
    }

    @Test
    void verboseIbvDevinfoHasRatesGidsAndAtomics() {
        Topology machine = read(Texts.IBV_DEVINFO_VERBOSE);
        Nic broadcom = machine.nics().get(0);
        Nic amazon = machine.nics().get(1);

        assertThat(broadcom.family()).isEqualTo(NicFamily.BNXT);
        assertThat(broadcom.ports().get(0).gigabitsPerSecond()).isEqualTo(400);
        assertThat(broadcom.ports().get(0).gids())
                .containsExactly(
                        new Gid(0, "fe80:0000:0000:0000:be97:e1ff:fe00:0001", "IB/RoCE v1", ""),
                        new Gid(1, "fe80:0000:0000:0000:be97:e1ff:fe00:0001", "RoCE v2", ""),
                        new Gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0009", "RoCE v2", ""));
        assertThat(amazon.family()).isEqualTo(NicFamily.EFA);
        assertThat(amazon.ports().get(0).linkLayer()).isEqualTo(NicReach.LinkLayer.UNSPECIFIED);
        assertThat(machine.warnings()).singleElement().asString().contains("bnxt_re0 has no atomics");
    }

    @Test
    void ibvDevinfoIsMergedOntoAMachine() {
        Topology machine = read(Texts.NVIDIA_SMI);

        Topology merged = Topologies.merge(machine, "devinfo", Texts.IBV_DEVINFO + Texts.IBV_DEVINFO_VERBOSE);

        assertThat(merged.nics())
                .extracting(Nic::name)
                .containsExactly("mlx5_0", "mlx5_bond_0", "bnxt_re0", "rdmap79s0");
        assertThat(merged.nics().get(0).id()).hasToString("15b3:1021");
        assertThat(merged.nics().get(0).ports()).hasSize(1);
        assertThat(type(merged, 0, merged.nics().get(0))).isEqualTo(PathType.PIX);
        assertThat(merged.warnings())
                .contains(
                        "devinfo has rdmap79s0, which test lacks; the NIC is added, but its distance to other devices is not known");
    }

    @Test
    void mergingKeepsWhatTheMachineKnowsOfANic() {
        Topology machine = LinuxTopology.read("sys", Machines.twoSockets().tree(), Map.of());
        String text = Texts.IBV_DEVINFO.replace("mlx5_0", "mlx5_1").replace("InfiniBand\n", "Ethernet\n");

        Nic before = machine.nics().get(1);
        Nic after = Topologies.merge(machine, "devinfo", text).nics().get(1);
        assertThat(after.address()).isEqualTo(before.address());
        assertThat(after.driver()).isEqualTo("mlx5_core");
        assertThat(after.ports().get(0).gigabitsPerSecond()).isEqualTo(200);
        assertThat(after.ports().get(0).gids()).isEqualTo(before.ports().get(0).gids());
        assertThat(after.ports().get(0).netdev()).isEqualTo("eth1");
    }

    @Test
    void aTextWithoutAnyDeviceIsNotMerged() {
        Topology machine = LinuxTopology.read("sys", Machines.twoSockets().tree(), Map.of());

        for (String text : List.of("", "# notes", "sh: ibv_devinfo: command not found\n", Texts.NVIDIA_SMI)) {
            assertThatThrownBy(() -> Topologies.merge(machine, "devinfo", text))
                    .isInstanceOf(TopologyException.class)
                    .hasMessageContaining("devinfo, line 1: expected the output of ibv_devinfo");
        }
        Topology merged = Topologies.merge(machine, "devinfo", "No IB devices found\n");
        assertThat(merged.nics()).hasSameSizeAs(machine.nics()).noneMatch(Nic::listed);
        assertThat(merged.warnings()).anyMatch(warning -> warning.contains("ibv_devinfo found no device"));
    }

    @Test
    void aListOfPortsThatIsCutIsRefused() {
        assertThatThrownBy(() -> read(Texts.IBV_DEVINFO.replace("phys_port_cnt:\t\t\t1", "phys_port_cnt:\t\t\t2")))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("test, line 1: mlx5_0 has phys_port_cnt \"2\", and 1 ports are listed");
    }

    private static Topology read(String text) {
        return Topologies.read("test", text);
    }

    private static PathType type(Topology machine, int gpu, Part to) {
        return machine.distance(machine.gpus().get(gpu), to).orElseThrow().type();
    }
}
