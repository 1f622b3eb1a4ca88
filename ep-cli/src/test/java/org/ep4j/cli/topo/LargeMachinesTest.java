package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.testing.Growth;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Machines of the size of the largest NVLink domain are shown without a line for every pair. */
@Tag("all")
final class LargeMachinesTest {
    private static final int GPUS = 576;

    /** Enough that pairs are counted, as they are in the larger matrix. */
    private static final int SMALL_MATRIX = 144;

    private static final int FACTOR = 4;

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

    /** The output of {@code nvidia-smi topo -m}: NVLinks in groups of eight GPUs. */
    private static String matrix(int gpus) {
        return row("", gpus, column -> "GPU" + column)
                + IntStream.range(0, gpus)
                        .mapToObj(row -> row(
                                "GPU" + row,
                                gpus,
                                column -> row == column ? "X" : row / 8 == column / 8 ? "NV4" : "SYS"))
                        .collect(Collectors.joining());
    }

    private static String row(String name, int gpus, IntFunction<String> cell) {
        return name + "\t" + IntStream.range(0, gpus).mapToObj(cell).collect(Collectors.joining("\t")) + "\n";
    }

    @Test
    void pairsOfManyGpusAreCounted() {
        assertThat(PathMatrix.of(domain()).lines())
                .contains("every pair of the 576 GPUs: NV18", "nearest of the 576 NICs, by number of GPUs: 576 PIX");
        assertThat(PathMatrix.of(Topologies.read("matrix", matrix(GPUS))).lines())
                .contains("pairs of the 576 GPUs, in both directions: 4032 NV4, 327168 SYS");
    }

    @Test
    void theTimeOfAMatrixGrowsWithItsCells() {
        String small = matrix(SMALL_MATRIX);
        String large = matrix(FACTOR * SMALL_MATRIX);
        // The time of each cell would grow with the GPUs if it needed a search.
        double most = 2.0 * FACTOR * FACTOR;
        assertThat(Growth.of(() -> Topologies.read("small", small), () -> Topologies.read("large", large), most))
                .as("read")
                .isLessThanOrEqualTo(most);
        Topology few = Topologies.read("small", small);
        Topology many = Topologies.read("large", large);
        assertThat(Growth.of(() -> PathMatrix.of(few), () -> PathMatrix.of(many), most))
                .as("shown")
                .isLessThanOrEqualTo(most);
    }

    @Test
    void distancesOfManyGpusAreLeftOutOfTheJsonWithAWarning() {
        JsonNode json = JsonMapper.builder().build().readTree(TopologyJson.of(domain()));
        assertThat(json.get("distances")).isEmpty();
        assertThat(json.get("links")).hasSize(4 * GPUS);
        assertThat(json.get("warnings").toString()).contains("distances between 576 GPUs are left out");
        assertThat(json.get("gpus").get(9).get("nearestNics").toString()).contains("mlx5_9");
    }

    @Test
    void manyDevicesAreListedAndDrawn() {
        Topology machine = domain();
        assertThat(TopologyTree.of(machine).lines()).hasSizeGreaterThan(3 * GPUS);
        assertThat(MachineDrawing.of(machine)).contains("mlx5_575");
    }
}
