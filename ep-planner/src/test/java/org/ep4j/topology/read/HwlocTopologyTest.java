package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.HostBridge;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
class HwlocTopologyTest {
    private final Topology first = HwlocTopology.read("first", TopologyFuzzTest.own("hwloc-1.xml"));
    private final Topology second = HwlocTopology.read("second", TopologyFuzzTest.own("hwloc-2.xml"));
    private final Topology third = HwlocTopology.read("third", TopologyFuzzTest.own("hwloc-3.xml"));

    @Test
    void oneSwitchApartIsPix() {
        assertThat(type(first, "cuda0", "mlx5_0")).isEqualTo(PathType.PIX);
    }

    @Test
    void twoSwitchesApartIsPxb() {
        assertThat(type(second, "nvml0", "mlx5_0")).isEqualTo(PathType.PXB);
    }

    @Test
    void oneHostBridgeIsPhbAndAnotherOfTheNodeIsNode() {
        assertThat(type(second, "nvml0", "mlx5_1")).isEqualTo(PathType.PHB);
        assertThat(type(second, "nvml0", "mlx5_2")).isEqualTo(PathType.NODE);
        assertThat(second.only(HostBridge.class))
                .extracting(HostBridge::name)
                .containsExactly("pci0000:00", "pci0000:40", "pci0001:00");
    }

    @Test
    void anotherNodeIsSys() {
        assertThat(type(second, "nvml0", "storage0")).isEqualTo(PathType.SYS);
        assertThat(type(first, "cuda1", "mlx5_0")).isEqualTo(PathType.SYS);
    }

    @Test
    void functionsOfOneCardAreAsNearAsBelowOneSwitch() {
        assertThat(type(second, "nvml1", "mlx5_2")).isEqualTo(PathType.PIX);
    }

    @Test
    void onlyUpstreamPortsOfUsefulSwitchesAreParts() {
        assertThat(first.only(PciSwitch.class)).extracting(PciSwitch::name).containsExactly("0000:01:00.0");
        assertThat(second.only(PciSwitch.class))
                .extracting(PciSwitch::name)
                .containsExactly("0000:01:00.0", "0000:04:00.0", "0000:40:01.1");
    }

    @Test
    void devicesOfTheNvlinkSwitchesCarryNoTrafficOfApplications() {
        assertThat(nic(second, "mlx5_1").compute()).isFalse();
        assertThat(second.nearestNics(gpu(second, "nvml0"))).containsExactly(nic(second, "mlx5_0"));
    }

    @Test
    void plainNetworkInterfacesAreLeftOut() {
        assertThat(second.nics()).extracting(Nic::name).doesNotContain("eno6");
    }

    @Test
    void renamedNicsAreKnownByTheirIds() {
        assertThat(nic(second, "storage0").family()).isEqualTo(NicFamily.MLX5);
    }

    @Test
    void portsHaveTheirStateAndIds() {
        NicPort active = nic(first, "mlx5_0").ports().get(0);
        assertThat(active.state()).isEqualTo(NicPort.State.ACTIVE);
        assertThat(active.linkLayer()).isEqualTo(NicReach.LinkLayer.INFINIBAND);
        assertThat(active.lid()).isEqualTo(0x5d);
        assertThat(active.netdev()).isEqualTo("ib0");
        assertThat(active.gids()).extracting(Gid::index).containsExactly(0);
        NicPort down = nic(second, "mlx5_0").ports().get(0);
        assertThat(down.state()).isEqualTo(NicPort.State.DOWN);
        assertThat(down.lid()).isZero();
    }

    @Test
    void gpusAreNamedAndNumberedAsTheirLibrariesDo() {
        assertThat(first.gpus()).extracting(Gpu::name).containsExactly("cuda0", "cuda1");
        assertThat(second.gpus()).extracting(Gpu::architecture).containsExactly("sm_90", "sm_90");
        assertThat(gpu(second, "nvml0").model()).isEqualTo("NVIDIA H200");
    }

    @Test
    void matricesGiveLinksBetweenGpus() {
        assertThat(second.links(gpu(second, "nvml0"), gpu(second, "nvml1")))
                .containsExactly(new Link(LinkType.NVLINK, 150, 6));
        GpuSwitch shared = third.only(GpuSwitch.class).get(0);
        assertThat(third.links(gpu(third, "nvml0"), shared)).containsExactly(new Link(LinkType.NVLINK, 150, 6));
        assertThat(third.distance(gpu(third, "nvml0"), gpu(third, "nvml1"))
                        .orElseThrow()
                        .type())
                .isEqualTo(PathType.NVL);
    }

    @Test
    void xgmiNeighboursAreOneHopApart() {
        Topology machine = HwlocTopology.read(
                "xgmi",
                machine(
                        gpu("01", 1, "") + gpu("02", 2, "") + gpu("03", 3, ""),
                        matrix("XGMIBandwidth", "0 100000 100000 100000 0 100000 100000 100000 0")
                                + matrix("XGMIHops", "0 1 2 1 0 1 2 1 0")));
        assertThat(machine.links(gpu(machine, "rsmi1"), gpu(machine, "rsmi2")))
                .containsExactly(new Link(LinkType.XGMI, 100, 1));
        assertThat(machine.links(gpu(machine, "rsmi1"), gpu(machine, "rsmi3"))).isEmpty();
    }

    @Test
    void gpusOfOneHiveAreJoinedThoughNoMatrixSaysHow() {
        String hive = "<info name='XGMIHiveID' value='%s'/>";
        Topology machine = HwlocTopology.read(
                "hives",
                machine(
                        gpu("01", 1, hive.formatted("a"))
                                + gpu("02", 2, hive.formatted("a"))
                                + gpu("03", 3, hive.formatted("b"))
                                + gpu("04", 4, hive.formatted("0"))
                                + gpu("05", 5, hive.formatted("0")),
                        ""));
        assertThat(machine.distance(gpu(machine, "rsmi1"), gpu(machine, "rsmi2"))
                        .orElseThrow()
                        .type())
                .isEqualTo(PathType.NVL);
        assertThat(machine.distance(gpu(machine, "rsmi1"), gpu(machine, "rsmi3"))
                        .orElseThrow()
                        .type())
                .isEqualTo(PathType.PHB);
        assertThat(machine.distance(gpu(machine, "rsmi4"), gpu(machine, "rsmi5"))
                        .orElseThrow()
                        .type())
                .isEqualTo(PathType.PHB);
    }

    @Test
    void cardsForRdmaWithoutVerbsAreNamedByTheirPlace() {
        String cassini = "<object type='PCIDev' pci_busid='0000:09:00.0' pci_type='0200 [17db:0501] [17db:0000] 02'>"
                + "<object type='OSDev' name='hsi0' osdev_type='2'/></object>";
        Topology machine = HwlocTopology.read("cxi", machine(cassini, ""));
        assertThat(machine.nics()).extracting(Nic::name).containsExactly("nic@0000:09:00.0");
        assertThat(machine.nics()).extracting(Nic::family).containsExactly(NicFamily.CXI);
    }

    @Test
    void familiesOfProcessorsAreCountedAsNcclDoes() {
        assertThat(second.numaNodes().get(0).processor()).isEqualTo(new Processor("x86_64", "AuthenticAMD", 175, 17));
        assertThat(first.hosts().get(0).name()).isEqualTo("old");
    }

    @Test
    void aHostBridgeOfSeveralNodesIsNoLinkBetweenThem() {
        String text = TopologyFuzzTest.own("hwloc-2.xml");
        String shared = "<object type='Bridge' bridge_type='0-1' bridge_pci='0002:[00-01]'>"
                + "<object type='PCIDev' pci_busid='0002:00:01.0' pci_type='0207 [15b3:101b] [15b3:0006] 00'>"
                + "<object type='OSDev' name='shared0' osdev_type='3'/></object></object>";
        Topology machine = HwlocTopology.read(
                "shared", text.replaceFirst("<object type=\"Package\"", shared + "<object type=\"Package\""));
        assertThat(type(machine, "nvml0", "shared0")).isEqualTo(PathType.NODE);
        assertThat(nic(machine, "shared0").numa()).isEqualTo(-1);
        assertThat(type(machine, "nvml0", "storage0")).isEqualTo(PathType.SYS);
    }

    @Test
    void aMachineWithoutNumaNodesIsOneUnknownNode() {
        assertThat(HwlocTopology.read("plain", machine(gpu("01", 1, ""), "")).numaNodes())
                .singleElement()
                .satisfies(node -> assertThat(node.number()).isEqualTo(-1));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0x00000001 | 0 | true",
                "0x00000001 | 1 | false",
                "0x80000000 | 31 | true",
                "0x00000001,0x0 | 32 | true",
                "0x00000001,,0x0 | 64 | true",
                "0x00000001,,0x0 | 32 | false",
                "0xf...f | 700 | true",
                "0xf...f,0x0 | 3 | false",
                "0xf...f,0x0 | 32 | true",
                "0x00000001 | -1 | false",
                "zz | 0 | false"
            })
    void setsAreReadAsHwlocPrintsThem(String bitmap, int number, boolean contained) {
        assertThat(new HwlocBitmap(bitmap).contains(number)).isEqualTo(contained);
    }

    private static String machine(String devices, String matrices) {
        return "<topology version='2.0'><object type='Machine'><object type='Bridge' bridge_type='0-1' bridge_pci='0000:[00-ff]'>"
                + devices + "</object></object>" + matrices + "</topology>";
    }

    private static String gpu(String bus, int number, String infos) {
        return "<object type='PCIDev' pci_busid='0000:" + bus + ":00.0' pci_type='0380 [1002:66a1] [1002:0834] 02'>"
                + "<object type='OSDev' gp_index='" + number + "' name='rsmi" + number + "' osdev_type='1'>" + infos
                + "</object></object>";
    }

    private static String matrix(String name, String values) {
        return "<distances2 type='OSDev' nbobjs='3' name='" + name
                + "' indexing='gp'><indexes>1 2 3</indexes><u64values>" + values + "</u64values></distances2>";
    }

    private static Gpu gpu(Topology topology, String name) {
        return topology.gpus().stream()
                .filter(gpu -> gpu.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static Nic nic(Topology topology, String name) {
        Optional<Nic> named =
                topology.nics().stream().filter(nic -> nic.name().equals(name)).findFirst();
        assertThat(named).as(name).isPresent();
        return named.orElseThrow();
    }

    private static PathType type(Topology topology, String gpu, String nic) {
        return topology.distance(gpu(topology, gpu), nic(topology, nic))
                .orElseThrow()
                .type();
    }

    @Test
    void bitsOfTheThirdVersionNameVerbs() {
        assertThat(third.nics()).extracting(Nic::name).containsExactly("fabric0");
        assertThat(List.copyOf(third.gpus())).hasSize(2);
    }
}
