package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.topology.Topology;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Machines of the size of the largest NVLink domain are shown without a line for every pair. */
@Tag("all")
final class LargeMachinesTest {
    private static final int GPUS = 576;

    private static Topology domain() {
        String devices = IntStream.range(0, GPUS)
                .mapToObj(i -> String.format(
                        "<pci busid='%04x:01:00.0' class='0x060400' link_speed='32.0 GT/s PCIe' link_width='16'>"
                                + "<pci busid='%04x:02:00.0' class='0x030200'><gpu dev='%d' sm='100'>"
                                + "<nvlink target='fffffff:ffff:ff' count='18' tclass='0x068000'/></gpu></pci>"
                                + "<pci busid='%04x:03:00.0' class='0x020700'><nic><net name='mlx5_%d' speed='400000'"
                                + " port='1'/></nic></pci></pci>%n",
                        i, i, i, i, i))
                .collect(Collectors.joining());
        return Topologies.read(
                "domain", "<system version='1'><cpu numaid='0' arch='arm64'>" + devices + "</cpu></system>");
    }

    private static Topology matrix() {
        String names = IntStream.range(0, GPUS).mapToObj(i -> "GPU" + i).collect(Collectors.joining("\t"));
        return Topologies.read(
                "matrix",
                names + "\n"
                        + IntStream.range(0, GPUS)
                                .mapToObj(row -> "GPU" + row + "\t"
                                        + IntStream.range(0, GPUS)
                                                .mapToObj(column ->
                                                        row == column ? "X" : row / 8 == column / 8 ? "PIX" : "SYS")
                                                .collect(Collectors.joining("\t")))
                                .collect(Collectors.joining("\n")));
    }

    @Test
    void pairsOfManyGpusAreCounted() {
        assertThat(PathMatrix.of(domain()).lines())
                .contains("every pair of the 576 GPUs: NV18", "nearest of the 576 NICs, by number of GPUs: 576 PIX");
        assertThat(PathMatrix.of(matrix()).lines())
                .contains("pairs of the 576 GPUs, in both directions: 4032 PIX, 327168 SYS");
    }

    @Test
    void distancesOfManyGpusAreLeftOutOfTheJsonWithAWarning() {
        JsonNode json = JsonMapper.builder().build().readTree(TopologyJson.of(domain()));
        assertThat(json.get("distances")).isEmpty();
        assertThat(json.get("links")).hasSize(4 * GPUS);
        assertThat(json.get("warnings").toString()).contains("distances of 576 GPUs are left out");
        assertThat(json.get("gpus").get(9).get("nearestNics").toString()).contains("mlx5_9");
    }

    @Test
    void manyDevicesAreListedAndDrawn() {
        Topology machine = domain();
        assertThat(TopologyTree.of(machine).lines()).hasSizeGreaterThan(3 * GPUS);
        assertThat(MachineDrawing.of(machine)).contains("mlx5_575");
    }
}
