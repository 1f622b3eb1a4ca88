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
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Distance;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Partitions of AMD GPUs: devices of their own that share the links of their package, whatever describes them. */
@Tag("verify")
class PartitionsTest {
    /** Ways to divide GPUs: of MI300X and MI300A in two, of MI300A in three, of MI300X in four. */
    enum Mode {
        DPX(3, 2),
        TPX(4, 3),
        QPX(3, 4);

        final int packages;
        final int partitions;
        final int all;

        Mode(int packages, int partitions) {
            this.packages = packages;
            this.partitions = partitions;
            this.all = packages * partitions;
        }

        boolean areOfOnePackage(int one, int other) {
            return one / partitions == other / partitions;
        }

        /** The PCI function of a partition. */
        String bus(int number) {
            return "0000:1" + number / partitions + ":00." + number % partitions;
        }
    }

    /** Drivers have the number of a partition in the function of its place, newer ones in the upper bits. */
    @ParameterizedTest
    @CsvSource({"DPX, 0", "TPX, 0", "QPX, 0", "DPX, 28", "TPX, 28", "QPX, 28"})
    void theComputeDriverListsEveryPartitionAndThePackagesShareTheirLinks(Mode mode, int shift) {
        SysTree tree = new SysTree().nodes(1).processor("AuthenticAMD", 25, 17);
        tree.kfd(0, "cpu_cores_count 96\nsimd_count 0\n");
        for (int i = 0; i < mode.all; i++) {
            long place = ((0x10 + i / mode.partitions) << 8) + ((long) (i % mode.partitions) << shift);
            tree.kfd(
                    i + 1,
                    "cpu_cores_count 0\nsimd_count 152\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\n"
                            + "location_id " + place + "\ndomain 0\n");
            tree.kfdLink("io_links", i + 1, 0, 2, 20, 312, 64000);
            for (int j = 0; j < mode.all; j++) {
                boolean inside = mode.areOfOnePackage(i, j);
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
        packagesShareTheirLinks(mode, machine, 48);
        assertThat(machine.gpus()).extracting(Gpu::card).contains("0000:10:00.0", "0000:11:00.0", "0000:12:00.0");
    }

    /** The node has as many links as without partitions: of each of four MI300A three, 300 GB/s together. */
    @ParameterizedTest
    @EnumSource
    void hwlocHasPartitionsAsDevicesOfRocmSmiOnOnePciDevice(Mode mode) {
        StringBuilder text = new StringBuilder("<topology version='2.0'><object type='Machine'>"
                + "<object type='NUMANode' os_index='0' nodeset='0x1'/>");
        for (int i = 0; i < mode.packages; i++) {
            text.append("<object type='Bridge' bridge_type='0-1' bridge_pci='000" + i + ":[00-01]'>"
                    + "<object type='PCIDev' gp_index='" + (50 + i) + "' pci_busid='000" + i
                    + ":01:00.0' pci_type='1200 [1002:74a0] [1002:74a0] 00' pci_link_speed='63'>");
            for (int j = 0; j < mode.partitions; j++) {
                int number = i * mode.partitions + j;
                text.append("<object type='OSDev' gp_index='" + (100 + number) + "' name='rsmi" + number
                        + "' osdev_type='5'/>");
            }
            text.append("</object></object>");
        }
        text.append("</object>")
                .append(distances(mode, "XGMIBandwidth", (i, j) -> 100_000))
                .append(distances(mode, "XGMIHops", (i, j) -> 1))
                .append("</topology>");
        Topology machine = Topologies.read("hwloc", text.toString());
        packagesShareTheirLinks(mode, machine, 100);
        for (GpuSwitch one : machine.only(GpuSwitch.class)) {
            List<Link> out = machine.only(GpuSwitch.class).stream()
                    .flatMap(other -> machine.links(one, other).stream())
                    .toList();
            assertThat(out.stream().mapToInt(Link::count).sum()).isEqualTo(mode.packages - 1);
            assertThat(out.stream().mapToDouble(Link::gigabytesPerSecond).sum()).isEqualTo(100 * (mode.packages - 1));
        }
        assertThat(machine.gpus()).extracting(Gpu::name).startsWith("rsmi0", "rsmi1", "rsmi2");
        assertThat(machine.warnings()).isEmpty();
    }

    private static String distances(Mode mode, String name, IntBinaryOperator value) {
        return "<distances2 type='OSDev' nbobjs='" + mode.all + "' name='" + name + "' indexing='gp'><indexes>"
                + String.join(
                        " ",
                        IntStream.range(0, mode.all)
                                .mapToObj(i -> Integer.toString(100 + i))
                                .toList())
                + "</indexes><u64values>"
                + String.join(
                        " ",
                        IntStream.range(0, mode.all * mode.all)
                                .mapToObj(i -> Integer.toString(
                                        i / mode.all == i % mode.all
                                                ? 0
                                                : value.applyAsInt(i / mode.all, i % mode.all)))
                                .toList())
                + "</u64values></distances2>";
    }

    @Test
    void devicesOfRocmSmiThatAreOnNoGpuAreWarnedOf() {
        Topology machine = Topologies.read(
                "hwloc",
                "<topology version='2.0'><object type='Machine'><object type='NUMANode' os_index='0' nodeset='0x1'/>"
                        + "<object type='OSDev' gp_index='7' name='rsmi3' osdev_type='5'/></object></topology>");
        assertThat(machine.warnings()).singleElement().asString().contains("rsmi3", "are left out");
    }

    @ParameterizedTest
    @EnumSource
    void rcclHasPartitionsAsFunctionsOfOnePciDevice(Mode mode) {
        StringBuilder text = new StringBuilder("<system version='2'><cpu numaid='0'>");
        for (int i = 0; i < mode.all; i++) {
            text.append("<pci busid='" + mode.bus(i) + "' class='0x120000' vendor='0x1002' device='0x74a1'><gpu dev='"
                    + i + "' rank='" + i + "' gcn='gfx942'>");
            for (int j = 0; j < mode.all; j++) {
                text.append(i == j ? "" : "<xgmi target='" + mode.bus(j) + "' count='1' tclass='0x120000'/>");
            }
            text.append("</gpu></pci>");
        }
        packagesShareTheirLinks(mode, Topologies.read("rccl", text + "</cpu></system>"), 48);
    }

    @ParameterizedTest
    @EnumSource
    void rocmSmiShowsPackagesByWeightsOrByBuses(Mode mode) {
        Topology byWeight = Topologies.read(
                "smi", smi(mode, "Weight", (i, j) -> mode.areOfOnePackage(i, j) ? "13" : "41") + smiTypes(mode));
        packagesShareTheirLinks(mode, byWeight, 0);
        assertThat(byWeight.gpus()).extracting(Gpu::name).startsWith("GPU0", "GPU1", "GPU2");

        StringBuilder buses = new StringBuilder();
        for (int i = 0; i < mode.all; i++) {
            buses.append("GPU[" + i + "]\t\t: PCI Bus: " + mode.bus(i) + "\n");
        }
        packagesShareTheirLinks(mode, Topologies.read("smi", smiTypes(mode) + buses), 0);
    }

    @Test
    void rocmSmiWithoutPackagesIsWarnedOf() {
        Topology machine = Topologies.read("smi", smiTypes(Mode.TPX));
        assertThat(machine.gpus()).hasSize(Mode.TPX.all);
        assertThat(machine.warnings())
                .singleElement()
                .asString()
                .contains(Mode.TPX.all + " GPUs", "partitions", "--showbus");
    }

    private static String smiTypes(Mode mode) {
        return smi(mode, "Link Type", (i, j) -> "XGMI");
    }

    private static String smi(Mode mode, String title, BiFunction<Integer, Integer, String> value) {
        StringBuilder text = new StringBuilder("===== " + title + " between two GPUs =====\n  ");
        for (int i = 0; i < mode.all; i++) {
            text.append(" GPU" + i);
        }
        for (int i = 0; i < mode.all; i++) {
            text.append("\nGPU" + i);
            for (int j = 0; j < mode.all; j++) {
                text.append(' ').append(i == j ? "0" : value.apply(i, j));
            }
        }
        return text + "\n\n";
    }

    @Test
    void aGpuThatIsNotDividedHasItsLinksForItself() {
        Topology machine = LinuxTopology.read("spx", Machines.instinct().tree(), Map.of());
        assertThat(machine.gpus()).extracting(Gpu::card).containsOnly("");
        assertThat(machine.only(GpuSwitch.class)).isEmpty();
        Locality around = Localities.of(machine, machine.gpus().get(1), -1);
        assertThat(around.card()).isEqualTo(1);
        assertThat(around.partitions(1)).isOne();
    }

    /** @param rate between two packages, GB/s; 0 where the source does not say */
    private static void packagesShareTheirLinks(Mode mode, Topology machine, double rate) {
        assertThat(machine.gpus()).hasSize(mode.all).extracting(Gpu::index).doesNotHaveDuplicates();
        List<GpuSwitch> packages = machine.only(GpuSwitch.class);
        assertThat(packages).hasSize(mode.packages).isSortedAccordingTo(Comparator.comparing(GpuSwitch::name));
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
                boolean inside = mode.areOfOnePackage(gpu.index(), other.index());
                assertThat(gpu.card().equals(other.card())).isEqualTo(inside);
                if (!gpu.equals(other)) {
                    Distance distance = machine.distance(gpu, other).orElseThrow();
                    assertThat(distance.type()).isEqualTo(PathType.NVL);
                    assertThat(distance.gigabytesPerSecond()).isCloseTo(inside ? 819.2 : rate, within(1e-9));
                    GpuPath path = GpuPath.between(rank, rank(machine, other)).orElseThrow();
                    assertThat(path.packages().map(GpuPath.Packages::pairs).orElse(0))
                            .isEqualTo(inside ? 0 : mode.partitions * mode.partitions);
                    assertThat(path.shared()).isEqualTo(inside);
                }
            }
        }
    }

    private static RankProfile rank(Topology machine, Gpu gpu) {
        Locality around = Localities.of(machine, gpu, -1);
        return RankProfile.builder(gpu.index(), "host", Device.hip(gpu.index()))
                .pid(1)
                .locality(around)
                .build();
    }
}
