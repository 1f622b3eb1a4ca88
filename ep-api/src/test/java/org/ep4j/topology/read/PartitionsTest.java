package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.IntBinaryOperator;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.GpuPaths;
import org.ep4j.topology.Distance;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuSwitch;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;
import org.ep4j.topology.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Partitions of AMD GPUs: devices of their own that share the links of their package, whatever describes them. */
@Tag("verify")
class PartitionsTest {
    private static final int PACKAGES = 3;
    private static final int PARTITIONS = 4;
    private static final int ALL = PACKAGES * PARTITIONS;

    /** Drivers have the number of a partition in the function of its place, newer ones in the upper bits. */
    @ParameterizedTest
    @ValueSource(ints = {0, 28})
    void theComputeDriverListsEveryPartitionAndThePackagesShareTheirLinks(int shift) {
        SysTree tree = new SysTree().nodes(1).processor("AuthenticAMD", 25, 17);
        tree.kfd(0, "cpu_cores_count 96\nsimd_count 0\n");
        for (int i = 0; i < ALL; i++) {
            long place = ((0x10 + i / PARTITIONS) << 8) + ((long) (i % PARTITIONS) << shift);
            tree.kfd(
                    i + 1,
                    "cpu_cores_count 0\nsimd_count 152\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\n"
                            + "location_id " + place + "\ndomain 0\n");
            tree.kfdLink("io_links", i + 1, 0, 2, 20, 312, 64000);
            for (int j = 0; j < ALL; j++) {
                boolean inside = i / PARTITIONS == j / PARTITIONS;
                if (i != j) {
                    tree.kfdLink(
                            "io_links", i + 1, j + 1, 11, inside ? 13 : 41, inside ? 819200 : 0, inside ? 819200 : 0);
                }
            }
        }
        // A name that is odd elsewhere changes nothing here.
        tree.files.file("/proc/sys/kernel/hostname", "a\u009bb");
        Topology machine = Topologies.read("kfd", tree.tree());
        assertThat(machine.warnings()).singleElement().asString().contains("the name of a host");
        assertThat(machine.assumptions()).singleElement().asString().contains("one xGMI link each");
        packagesShareTheirLinks(machine, 48);
        assertThat(machine.gpus()).extracting(Gpu::card).contains("0000:10:00.0", "0000:11:00.0", "0000:12:00.0");
    }

    @Test
    void hwlocHasPartitionsAsDevicesOfRocmSmiOnOnePciDevice() {
        StringBuilder text = new StringBuilder("<topology version='2.0'><object type='Machine'>"
                + "<object type='NUMANode' os_index='0' nodeset='0x1'/>");
        for (int i = 0; i < PACKAGES; i++) {
            text.append("<object type='Bridge' bridge_type='0-1' bridge_pci='000" + i + ":[00-01]'>"
                    + "<object type='PCIDev' gp_index='" + (50 + i) + "' pci_busid='000" + i
                    + ":01:00.0' pci_type='1200 [1002:74a0] [1002:74a0] 00' pci_link_speed='63'>");
            for (int j = 0; j < PARTITIONS; j++) {
                int number = i * PARTITIONS + j;
                text.append("<object type='OSDev' gp_index='" + (100 + number) + "' name='rsmi" + number
                        + "' osdev_type='5'/>");
            }
            text.append("</object></object>");
        }
        text.append("</object>")
                .append(distances("XGMIBandwidth", (i, j) -> 100_000))
                .append(distances("XGMIHops", (i, j) -> 1))
                .append("</topology>");
        Topology machine = Topologies.read("hwloc", text.toString());
        packagesShareTheirLinks(machine, 100);
        assertThat(machine.gpus()).extracting(Gpu::name).startsWith("rsmi0", "rsmi1", "rsmi2");
        assertThat(machine.warnings()).isEmpty();
    }

    private static String distances(String name, IntBinaryOperator value) {
        return "<distances2 type='OSDev' nbobjs='" + ALL + "' name='" + name + "' indexing='gp'><indexes>"
                + String.join(
                        " ",
                        IntStream.range(0, ALL)
                                .mapToObj(i -> Integer.toString(100 + i))
                                .toList())
                + "</indexes><u64values>"
                + String.join(
                        " ",
                        IntStream.range(0, ALL * ALL)
                                .mapToObj(i ->
                                        Integer.toString(i / ALL == i % ALL ? 0 : value.applyAsInt(i / ALL, i % ALL)))
                                .toList())
                + "</u64values></distances2>";
    }

    @Test
    void devicesOfRocmSmiThatAreOnNoGpuAreWarnedOf() {
        Topology machine = Topologies.read(
                "hwloc",
                "<topology version='2.0'><object type='Machine'><object type='NUMANode' os_index='0' nodeset='0x1'/>"
                        + "<object type='OSDev' gp_index='7' name='rsmi3' osdev_type='5'/></object></topology>");
        assertThat(machine.warnings()).singleElement().asString().contains("rsmi3", "missing here");
    }

    @Test
    void rcclHasPartitionsAsFunctionsOfOnePciDevice() {
        StringBuilder text = new StringBuilder("<system version='2'><cpu numaid='0'>");
        for (int i = 0; i < ALL; i++) {
            text.append("<pci busid='" + bus(i) + "' class='0x120000' vendor='0x1002' device='0x74a1'><gpu dev='" + i
                    + "' rank='" + i + "' gcn='gfx942'>");
            for (int j = 0; j < ALL; j++) {
                text.append(i == j ? "" : "<xgmi target='" + bus(j) + "' count='1' tclass='0x120000'/>");
            }
            text.append("</gpu></pci>");
        }
        packagesShareTheirLinks(Topologies.read("rccl", text + "</cpu></system>"), 48);
    }

    private static String bus(int number) {
        return "0000:1" + number / PARTITIONS + ":00." + number % PARTITIONS;
    }

    @Test
    void rocmSmiTellsPackagesByWeightsOrByBuses() {
        Topology byWeight = Topologies.read(
                "smi", smi("Weight", (i, j) -> i / PARTITIONS == j / PARTITIONS ? "13" : "41") + smiTypes());
        packagesShareTheirLinks(byWeight, 0);
        assertThat(byWeight.gpus()).extracting(Gpu::name).startsWith("GPU0", "GPU1", "GPU2");

        StringBuilder buses = new StringBuilder();
        for (int i = 0; i < ALL; i++) {
            buses.append("GPU[" + i + "]\t\t: PCI Bus: " + bus(i) + "\n");
        }
        packagesShareTheirLinks(Topologies.read("smi", smiTypes() + buses), 0);
    }

    @Test
    void rocmSmiThatTellsNothingOfPackagesIsWarnedOf() {
        Topology machine = Topologies.read("smi", smiTypes());
        assertThat(machine.gpus()).hasSize(ALL);
        assertThat(machine.warnings()).singleElement().asString().contains(ALL + " GPUs", "partitions", "--showbus");
    }

    private static String smiTypes() {
        return smi("Link Type", (i, j) -> "XGMI");
    }

    private static String smi(String title, BiFunction<Integer, Integer, String> value) {
        StringBuilder text = new StringBuilder("===== " + title + " between two GPUs =====\n  ");
        for (int i = 0; i < ALL; i++) {
            text.append(" GPU" + i);
        }
        for (int i = 0; i < ALL; i++) {
            text.append("\nGPU" + i);
            for (int j = 0; j < ALL; j++) {
                text.append(' ').append(i == j ? "0" : value.apply(i, j));
            }
        }
        return text + "\n\n";
    }

    @Test
    void aGpuThatIsNotDividedHasItsLinksForItself() {
        Topology machine = LinuxTopology.read("spx", Machines.instinct().tree());
        assertThat(machine.gpus()).extracting(Gpu::card).containsOnly("");
        assertThat(machine.only(GpuSwitch.class)).isEmpty();
        Locality around = Locality.of(machine, machine.gpus().get(1));
        assertThat(around.card()).isEqualTo(1);
        assertThat(around.partitions(1)).isOne();
    }

    /** @param rate between two packages, GB/s; 0 where the source does not say */
    private static void packagesShareTheirLinks(Topology machine, double rate) {
        assertThat(machine.gpus()).hasSize(ALL).extracting(Gpu::index).doesNotHaveDuplicates();
        List<GpuSwitch> packages = machine.only(GpuSwitch.class);
        assertThat(packages).hasSize(PACKAGES).isSortedAccordingTo(Comparator.comparing(GpuSwitch::name));
        for (GpuSwitch one : packages) {
            for (GpuSwitch other : packages) {
                if (!one.equals(other)) {
                    assertThat(machine.links(one, other)).containsExactly(new Link(LinkType.XGMI, rate, 1));
                }
            }
        }
        for (Gpu gpu : machine.gpus()) {
            RankProfile rank = rank(machine, gpu);
            for (Gpu other : machine.gpus()) {
                boolean inside = gpu.index() / PARTITIONS == other.index() / PARTITIONS;
                assertThat(gpu.card().equals(other.card())).isEqualTo(inside);
                if (!gpu.equals(other)) {
                    Distance distance = machine.distance(gpu, other).orElseThrow();
                    assertThat(distance.type()).isEqualTo(PathType.NVL);
                    assertThat(distance.gigabytesPerSecond()).isCloseTo(inside ? 819.2 : rate, within(1e-9));
                    GpuPath path = GpuPaths.between(rank, rank(machine, other)).orElseThrow();
                    assertThat(path.packages().map(GpuPath.Packages::pairs).orElse(0))
                            .isEqualTo(inside ? 0 : PARTITIONS * PARTITIONS);
                    assertThat(path.shared()).isEqualTo(inside);
                }
            }
        }
    }

    private static RankProfile rank(Topology machine, Gpu gpu) {
        Locality around = Locality.of(machine, gpu);
        return new RankProfile(
                gpu.index(), "host", "host", 1, new Device("hip", gpu.index()), around, "", Map.of(), Map.of());
    }
}
