package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
class NcclTopologyTest {
    private final Topology hopper = NcclTopology.read("hopper", TopologyFuzzTest.own("nccl-hopper.xml"));
    private final Topology blackwell =
            NcclTopology.read("blackwell", TopologyFuzzTest.own("nccl-blackwell-two-hosts.xml"));
    private final Topology instinct = NcclTopology.read("instinct", TopologyFuzzTest.own("nccl-instinct.xml"));
    private final Topology template = NcclTopology.read("template", TopologyFuzzTest.own("nccl-template.xml"));

    @Test
    void twoLevelsOfOneBroadcomSwitchAreOneSwitchApart() {
        assertThat(type(hopper, gpu(hopper, 0), "mlx5_0")).isEqualTo(PathType.PIX);
        assertThat(hopper.only(PciSwitch.class)).hasSize(3);
    }

    /** NCCL appends "_dma" to the name of a device that it reaches by its Data Direct function. */
    @Test
    void aDataDirectFunctionIsAnotherWayToTheSameNic() {
        String gpu =
                "<cpu numaid='0'><pci busid='0000:10:00.0' class='0x060400'><pci busid='0000:11:00.0' class='0x030200'>"
                        + "<gpu dev='0'/></pci>" + dataDirect("0000:12:00.0", "mlx5_0_dma") + "</pci></cpu>";
        String own = "<cpu numaid='1'>" + dataDirect("0000:03:00.0", "mlx5_0") + "</cpu>";
        Topology alone = NcclTopology.read("alone", "<system version='1'>" + gpu + "</system>");
        assertThat(alone.nics()).extracting(Nic::name).containsExactly("mlx5_0");
        for (String both : List.of(gpu + own, own + gpu)) {
            Topology machine = NcclTopology.read("both", "<system version='1'>" + both + "</system>");
            assertThat(machine.nics()).singleElement().satisfies(nic -> {
                assertThat(nic.name()).isEqualTo("mlx5_0");
                assertThat(nic.address().orElseThrow()).hasToString("0000:03:00.0");
                assertThat(nic.ports()).hasSize(1);
            });
            assertThat(type(machine, gpu(machine, 0), "mlx5_0")).isEqualTo(PathType.PIX);
        }
    }

    private static String dataDirect(String address, String name) {
        return "<pci busid='" + address + "' class='0x020000' vendor='0x15b3'><nic><net name='" + name
                + "' speed='400000' port='1' guid='0x1'/></nic></pci>";
    }

    @Test
    void twoSwitchesOfOtherMakersAreSeveralSwitchesApart() {
        assertThat(type(hopper, gpu(hopper, 1), "mlx5_2")).isEqualTo(PathType.PXB);
    }

    @Test
    void boardsWithSubsystemIdsOfTheirMakerKeepTheirSwitches() {
        String text = TopologyFuzzTest.own("nccl-hopper.xml")
                .replace("subsystem_vendor=\"0x1000\"", "subsystem_vendor=\"0x15d9\"");
        Topology oem = NcclTopology.read("oem", text);
        assertThat(type(oem, gpu(oem, 0), "mlx5_0")).isEqualTo(PathType.PXB);
    }

    @Test
    void aSwitchMayHaveSeveralLinksToOthers() {
        StringBuilder xml = new StringBuilder("<system version='1'><cpu numaid='0'>");
        for (int i = 1; i <= 3; i++) {
            xml.append("<pci busid='0000:" + i + "0:00.0' class='0x060400'>");
            xml.append(i > 1 ? "" : "<pcilink target='0000:20:00.0'/><pcilink target='0000:30:00.0'/>");
            xml.append("<pci busid='0000:" + i + "1:00.0' class='0x030200'><gpu dev='" + i + "'/></pci></pci>");
        }
        Topology linked = NcclTopology.read("linked", xml + "</cpu></system>");
        assertThat(type(linked, gpu(linked, 0), gpu(linked, 1))).isEqualTo(PathType.PXB);
        assertThat(type(linked, gpu(linked, 0), gpu(linked, 2))).isEqualTo(PathType.PXB);
    }

    @Test
    void waysThroughTheProcessorAreNamedByHowManyNodesTheyPass() {
        assertThat(type(hopper, gpu(hopper, 1), "eno1")).isEqualTo(PathType.PHB);
        assertThat(type(hopper, gpu(hopper, 0), "mlx5_2")).isEqualTo(PathType.SYS);
    }

    @Test
    void familiesOfCardsWithoutIdsAreTakenFromTheNamesOfTheirDevices() {
        Topology aws = NcclTopology.read(
                "aws",
                "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:50:00.0\" class=\"0x020000\"><nic>"
                        + "<net name=\"rdmap79s0\" dev=\"0\" speed=\"100000\" port=\"1\"/></nic></pci></cpu></system>");
        assertThat(nic(aws, "rdmap79s0").family()).isEqualTo(NicFamily.EFA);
    }

    @Test
    void thePortIsTheLastLinkOfAWay() {
        Distance distance =
                hopper.distance(gpu(hopper, 0), nic(hopper, "mlx5_0")).orElseThrow();
        assertThat(distance).isEqualTo(new Distance(PathType.PIX, 25, 2));
        assertThat(hopper.distance(gpu(hopper, 1), nic(hopper, "mlx5_2"))
                        .orElseThrow()
                        .gigabytesPerSecond())
                .isEqualTo(48);
    }

    @Test
    void allSwitchesOfNvlinkAreOne() {
        GpuSwitch shared = hopper.only(GpuSwitch.class).get(0);
        assertThat(hopper.links(gpu(hopper, 0), shared)).containsExactly(new Link(LinkType.NVLINK, 18 * 20.6, 18));
        assertThat(type(hopper, gpu(hopper, 0), gpu(hopper, 1))).isEqualTo(PathType.NVL);
        assertThat(gpu(hopper, 0).clique()).isEmpty();
    }

    @Test
    void interfacesOfSocketsCountOnlyWhereThereIsNoRdma() {
        assertThat(nic(hopper, "eno1").family()).isEqualTo(NicFamily.ETHERNET);
        assertThat(hopper.nearestNics(gpu(hopper, 1))).containsExactly(nic(hopper, "mlx5_2"));
        Topology sockets = NcclTopology.read(
                "sockets",
                cpu(card("0000:01:00.0", "", net("eth0", "port='0' speed='10000'")) + gpu("0000:02:00.0", "")));
        assertThat(sockets.nearestNics(gpu(sockets, 0))).hasSize(1);
    }

    /** Sources list them at the processor, nearer than a card below a switch of the other one. */
    @ParameterizedTest
    @ValueSource(strings = {"br-5d1c", "veth9a", "cali77", "tunl0", "virbr0", "docker0", "lo"})
    void interfacesOfContainersAndVirtualMachinesAreNoNicsOfAGpu(String name) {
        String near = gpu("0000:02:00.0", "") + "<nic>" + net(name, "port='0' speed='10000'") + "</nic>";
        String far = "<cpu numaid='1'>" + card("0000:81:00.0", "", net("eno1", "port='0' speed='1000'")) + "</cpu>";
        Topology both =
                NcclTopology.read("both", "<system version='1'><cpu numaid='0'>" + near + "</cpu>" + far + "</system>");
        assertThat(both.nics()).extracting(Nic::name).containsExactly(name, "eno1");
        assertThat(both.nearestNics(gpu(both, 0))).containsExactly(nic(both, "eno1"));
        assertThat(Localities.of(both, gpu(both, 0), -1).nics())
                .extracting(NicReach::name)
                .containsExactly("eno1");
        assertThat(Localities.ofHost(both, 0, 0, -1).nics())
                .extracting(NicReach::name)
                .containsExactly("eno1");

        Topology alone = NcclTopology.read("alone", cpu(near));
        assertThat(alone.nearestNics(gpu(alone, 0))).isEmpty();
        assertThat(Localities.of(alone, gpu(alone, 0), -1).nics()).isEmpty();
    }

    @Test
    void anRdmaDeviceIsANicWhateverItsName() {
        Topology machine = NcclTopology.read(
                "renamed",
                cpu(gpu("0000:02:00.0", "")
                        + card("0000:01:00.0", "vendor='0x15b3' device='0x1021'", net("tunnel0", "port='1'"))));
        assertThat(machine.nearestNics(gpu(machine, 0))).extracting(Nic::name).containsExactly("tunnel0");
        assertThat(Localities.of(machine, gpu(machine, 0), -1).nics()).hasSize(1);
        assertThat(machine.warnings()).containsExactly(NcclNics.UNRATED + "tunnel0 (line 4: none)");
    }

    @Test
    void aNetWithoutAPortIsRdmaWhereIdsOrTheNameSaySo() {
        Topology machine = NcclTopology.read(
                "portless",
                cpu(card("0000:01:00.0", "vendor='0x15b3' device='0x1021'", net("rocep1s0", "speed='200000'"))
                        + card("0000:02:00.0", "vendor='0x14e4' device='0x1760'", net("fast0", "speed='200000'"))
                        + card("0000:03:00.0", "", net("mlx5_3", "speed='200000'"))
                        + card("0000:04:00.0", "", net("eth0", "speed='200000'"))));
        assertThat(machine.nics())
                .extracting(Nic::family)
                .containsExactly(NicFamily.MLX5, NicFamily.BNXT, NicFamily.MLX5, NicFamily.ETHERNET);
        assertThat(machine.nics()).extracting(Nic::gigabitsPerSecond).containsOnly(200.0);
        assertThat(machine.assumptions()).singleElement().asString().startsWith("eth0: plain Ethernet");
    }

    @Test
    void nicsWithoutASpeedThatCanBeReadAreNamedWithWhatIsTaken() {
        String nets = net("mlx5_0", "port='1'")
                + net("mlx5_1", "port='1' speed='fast'")
                + net("mlx5_2", "port='1' speed='-1'")
                + net("mlx5_3+mlx5_4", "port='1' speed=''")
                + net("mlx5_5", "port='1' speed='400000'")
                + net("", "port='1'");
        Topology machine = NcclTopology.read("rates", cpu(card("0000:01:00.0", "", nets)));
        assertThat(machine.warnings())
                .containsExactly(NcclNics.UNRATED
                        + "nic@0000:01:00.0 (line 3: none), mlx5_0 (line 3: none), mlx5_1 (line 3: \"fast\"),"
                        + " mlx5_2 (line 3: \"-1\"), mlx5_3+mlx5_4 (line 3: none)");
        assertThat(nic(machine, "mlx5_0").gigabitsPerSecond()).isEqualTo(10);
        assertThat(nic(machine, "mlx5_3").gigabitsPerSecond()).isEqualTo(5);
        assertThat(NcclNics.UNRATED).contains("10000 Mb/s", "--merge");

        String many = IntStream.range(0, 64)
                .mapToObj(i -> net("mlx5_" + i, "port='1'"))
                .collect(Collectors.joining());
        List<String> warnings =
                NcclTopology.read("many", cpu(card("0000:01:00.0", "", many))).warnings();
        assertThat(warnings).hasSizeGreaterThan(1).allMatch(warning -> warning.contains(" of 64: "));
        assertThat(String.join(" ", warnings))
                .contains(
                        IntStream.range(0, 64).mapToObj(i -> "mlx5_" + i + " (").toList());

        String unused = "<nic>" + net("veth1", "port='0'") + net("docker0", "port='0' speed='-1'") + "</nic>";
        assertThat(NcclTopology.read("virtual", cpu(unused)).warnings()).isEmpty();
    }

    @Test
    void aSpeedInKilobitsOfJoinedDevicesIsWarnedOfOnce() {
        Topology joined = NcclTopology.read(
                "joined", cpu(card("0000:01:00.0", "", net("cxi0+cxi1", "port='1' speed='400000000'"))));
        assertThat(joined.warnings()).singleElement().asString().contains("kb/s");
        assertThat(joined.nics()).extracting(Nic::gigabitsPerSecond).containsExactly(200.0, 200.0);
    }

    @Test
    void portsOfOneCardAreDevicesWithOneCardAndThePortOfEach() {
        Nic first = nic(hopper, "mlx5_0");
        Nic second = nic(hopper, "mlx5_1");
        assertThat(second.card()).isEqualTo(first.card());
        assertThat(nic(hopper, "mlx5_2").card()).isNotEqualTo(first.card());
        assertThat(first.ports()).extracting(NicPort::number).containsExactly(1);
        assertThat(second.ports()).extracting(NicPort::number).containsExactly(1);
        assertThat(second.ports()).extracting(NicPort::gigabitsPerSecond).containsExactly(200.0);
    }

    @Test
    void twoPortsOfOneDeviceStayOneDevice() {
        Topology dual = NcclTopology.read(
                "dual",
                cpu(card(
                        "0000:01:00.0",
                        "",
                        net("mlx5_0", "port='1' speed='100000'") + net("mlx5_0", "port='3' speed='200000'"))));
        assertThat(dual.nics()).hasSize(1);
        assertThat(dual.nics().get(0).ports()).extracting(NicPort::number).containsExactly(1, 2);
        assertThat(dual.nics().get(0).gigabitsPerSecond()).isEqualTo(300);
    }

    @Test
    void devicesThatNcclJoinedAreTakenApart() {
        Topology joined = NcclTopology.read(
                "joined", cpu(card("0000:01:00.0", "", net("mlx5_0+mlx5_1", "port='1' speed='400000'"))));
        assertThat(joined.nics()).extracting(Nic::name).containsExactly("mlx5_0", "mlx5_1");
        assertThat(joined.nics()).extracting(Nic::gigabitsPerSecond).containsExactly(200.0, 200.0);
    }

    @Test
    void blankNamesOfJoinedDevicesAreNoDevices() {
        Topology joined = NcclTopology.read(
                "joined",
                cpu(card("0000:01:00.0", "", net("mlx5_0+ ++mlx5_1+", "port='1' speed='400000'"))
                        + card("0000:02:00.0", "", net("+", "port='1'"))));
        assertThat(joined.nics()).extracting(Nic::name).containsExactly("mlx5_0", "mlx5_1", "nic@0000:02:00.0");
        assertThat(joined.nics().get(0).gigabitsPerSecond()).isEqualTo(200);
    }

    @Test
    void renamedNicsAreKnownByTheirIdsAndThoseWithoutIdsByTheirNames() {
        Topology renamed = NcclTopology.read(
                "renamed",
                cpu(card("0000:01:00.0", "vendor='0x14e4' device='0x1760'", net("mlx5_0", "port='1'"))
                        + card("0000:02:00.0", "", net("mlx5_1", "port='1'"))
                        + card("0000:03:00.0", "", net("fast0", "port='1'"))));
        assertThat(renamed.nics())
                .extracting(Nic::family)
                .containsExactly(NicFamily.BNXT, NicFamily.MLX5, NicFamily.OTHER_RDMA);
    }

    @Test
    void nicsOfWhichOnlyTheirClassIsKnownAreSupposedToBePlainEthernet() {
        String bare = "<pci busid='0000:04:00.0' class='0x020000'/>";
        Topology machine = NcclTopology.read("bare", cpu(gpu("0000:01:00.0", "") + bare));
        assertThat(machine.nics()).extracting(Nic::family).containsExactly(NicFamily.ETHERNET);
        assertThat(machine.assumptions())
                .singleElement()
                .asString()
                .startsWith("nic@0000:04:00.0: plain Ethernet, without RDMA");

        String text = """
                hca_id: rocep4s0
                  vendor_id: 0x02c9
                  vendor_part_id: 4129
                  phys_port_cnt: 1
                    port: 1
                      state: PORT_ACTIVE (4)
                      link_layer: Ethernet
                """;
        Topology merged = Topologies.merge(machine, "ibv.txt", text);
        assertThat(nic(merged, "rocep4s0").family()).isEqualTo(NicFamily.MLX5);
        assertThat(merged.assumptions()).isEmpty();
    }

    @Test
    void nicsThatSayThatTheyAreSocketsAreNoSupposition() {
        Topology machine = NcclTopology.read(
                "sockets",
                cpu(card("0000:01:00.0", "", net("eth0", "port='0'"))
                        + card("0000:02:00.0", "vendor='0x1d0f' device='0xec20'", net("eth1", ""))));
        assertThat(machine.nics()).extracting(Nic::family).containsOnly(NicFamily.ETHERNET);
        assertThat(machine.assumptions()).isEmpty();
    }

    @Test
    void devicesOfTheNvlinkSwitchesCarryNoTrafficOfApplications() {
        String ids = "vendor='0x15b3' device='0x1021' subsystem_vendor='0x15b3' subsystem_device='0x0087'";
        Topology machine = NcclTopology.read(
                "hgx", cpu(gpu("0000:02:00.0", "") + card("0000:01:00.0", ids, net("mlx5_0", "port='1'"))));
        assertThat(machine.nics().get(0).compute()).isFalse();
        assertThat(machine.nearestNics(gpu(machine, 0))).isEmpty();
    }

    @Test
    void speedsInKilobitsAreCorrected() {
        assertThat(nic(instinct, "cxi0").gigabitsPerSecond()).isEqualTo(200);
        assertThat(instinct.warnings())
                .anySatisfy(warning -> assertThat(warning).contains("200000000", "kb/s"));
    }

    @Test
    void coherentLinksBringTheWidestNicsOfTheOwnProcessorNear() {
        Gpu gpu = gpu(blackwell, 0);
        assertThat(type(blackwell, gpu, "mlx5_0")).isEqualTo(PathType.P2C);
        assertThat(type(blackwell, gpu, "mlx5_2")).as("narrower").isEqualTo(PathType.PHB);
        assertThat(type(blackwell, gpu, "mlx5_1")).as("of the other processor").isEqualTo(PathType.SYS);
        assertThat(PathType.P2C.gpuDirect()).isTrue();
    }

    @Test
    void hostsOfOneFileAreOneNvlinkDomainWithNicsOfTheirOwn() {
        assertThat(blackwell.hosts()).hasSize(2);
        Gpu here = gpu(blackwell, 0);
        Gpu there = blackwell.gpus().get(2);
        assertThat(there.host()).isEqualTo(1);
        assertThat(there.index()).isZero();
        assertThat(type(blackwell, here, there)).isEqualTo(PathType.NVL);
        assertThat(there.clique()).isNotEmpty().isEqualTo(here.clique());
        Nic far = blackwell.nics().stream()
                .filter(nic -> nic.host() == 1)
                .findFirst()
                .orElseThrow();
        assertThat(blackwell.distance(here, far)).isEmpty();
        assertThat(blackwell.nearestNics(there)).containsExactly(far);
    }

    @Test
    void aNicBelowAGpuHangsOnTheProcessor() {
        assertThat(type(instinct, gpu(instinct, 1), "cxi0")).isEqualTo(PathType.PHB);
        assertThat(type(instinct, gpu(instinct, 0), "cxi0")).isEqualTo(PathType.PHB);
    }

    @Test
    void xgmiJoinsNeighboursAndOneGpuMayBeBetween() {
        assertThat(instinct.links(gpu(instinct, 0), gpu(instinct, 1))).contains(new Link(LinkType.XGMI, 4 * 36, 4));
        assertThat(type(instinct, gpu(instinct, 0), gpu(instinct, 2))).isEqualTo(PathType.NVL);
        assertThat(type(instinct, gpu(instinct, 1), gpu(instinct, 2))).isEqualTo(PathType.NVB);
    }

    @Test
    void architecturesComeFromWhatEachVendorWrites() {
        assertThat(hopper.gpus()).extracting(Gpu::architecture).containsOnly("sm_90");
        assertThat(instinct.gpus()).extracting(Gpu::architecture).containsExactly("gfx90a", "gfx90a", "gfx942");
        assertThat(instinct.gpus()).extracting(Gpu::vendor).containsOnly(GpuVendor.AMD);
    }

    @Test
    void templatesShowGpusAndNicsByClass() {
        assertThat(template.gpus()).extracting(Gpu::vendor).containsExactly(GpuVendor.NVIDIA, GpuVendor.NVIDIA);
        assertThat(gpu(template, 0).architecture()).isEqualTo("sm_80");
        assertThat(template.nics()).extracting(Nic::name).containsExactly("nic@0101:00:00.0", "nic@0000:00:1b.0");
        assertThat(template.nics()).extracting(Nic::family).containsExactly(NicFamily.OTHER_RDMA, NicFamily.EFA);
        assertThat(type(template, gpu(template, 0), "nic@0101:00:00.0")).isEqualTo(PathType.PIX);
        assertThat(template.warnings())
                .anySatisfy(warning -> assertThat(warning).contains("0000:00:05.0"));
    }

    @Test
    void aTemplateWithoutClassesIsAMachineWithoutGpus() {
        Topology bare = NcclTopology.read("bare", cpu("<pci busid='0000:00:16.0'/><pci busid='0000:00:17.0'/>"));
        assertThat(bare.gpus()).isEmpty();
        assertThat(bare.nics()).isEmpty();
        assertThat(bare.numaNodes()).hasSize(1);
    }

    @Test
    void classesCountForNothingOnceTheFileNamesGpus() {
        Topology machine = NcclTopology.read(
                "mixed", cpu(gpu("0000:01:00.0", "") + "<pci busid='0000:02:00.0' class='0x030200'/>"));
        assertThat(machine.gpus()).hasSize(1);
    }

    @Test
    void childrenOfAnElementDecideWithoutAClass() {
        Topology machine = NcclTopology.read(
                "classless",
                cpu("<pci busid='0000:01:00.0'><gpu dev='0' rank='0'/></pci>"
                        + "<pci busid='0000:02:00.0'><nic><net name='mlx5_0' dev='0' port='1'/></nic></pci>"));
        assertThat(machine.gpus()).hasSize(1);
        assertThat(machine.nics()).extracting(Nic::name).containsExactly("mlx5_0");
    }

    @Test
    void deviceNumbersNameTheGpusOfAHostAlsoWithGaps() {
        Topology machine = NcclTopology.read(
                "numbers",
                cpu(gpu("0000:01:00.0", "dev='6' rank='0'")
                        + gpu("0000:02:00.0", "dev='4' rank='1'")
                        + gpu("0000:03:00.0", "dev='5' rank='2'")));
        assertThat(numbers(machine))
                .containsExactly("GPU4 4 0000:02:00.0", "GPU5 5 0000:03:00.0", "GPU6 6 0000:01:00.0");
    }

    @Test
    void ranksNumberTheGpusWhereDeviceNumbersRepeatOrAreMissing() {
        for (String second : List.of("dev='0' rank='0'", "rank='0'", "dev='-1' rank='0'")) {
            Topology machine = NcclTopology.read(
                    "ranks", cpu(gpu("0000:01:00.0", "dev='0' rank='1'") + gpu("0000:02:00.0", second)));
            assertThat(numbers(machine)).as(second).containsExactly("GPU0 0 0000:02:00.0", "GPU1 1 0000:01:00.0");
        }
    }

    @Test
    void busIdsNumberTheGpusWithoutDeviceNumbersAndRanks() {
        Topology machine = NcclTopology.read("buses", cpu(gpu("0000:02:00.0", "") + gpu("0000:01:00.0", "")));
        assertThat(numbers(machine)).containsExactly("GPU0 0 0000:01:00.0", "GPU1 1 0000:02:00.0");
    }

    @Test
    void everyHostOfAFileNumbersItsOwnGpus() {
        StringBuilder hosts = new StringBuilder();
        for (int host = 0; host < 2; host++) {
            hosts.append("<cpu numaid='0' host_hash='0x" + (host + 1) + "'>"
                    + gpu("0000:01:00.0", "dev='1' rank='" + 2 * host + "'")
                    + gpu("0000:02:00.0", "dev='0' rank='" + (2 * host + 1) + "'") + "</cpu>");
        }
        Topology machine = NcclTopology.read("hosts", "<system version='1'>" + hosts + "</system>");
        assertThat(numbers(machine))
                .containsExactly(
                        "GPU0 0 0000:02:00.0", "GPU1 1 0000:01:00.0", "GPU0 0 0000:02:00.0", "GPU1 1 0000:01:00.0");
    }

    private static List<String> numbers(Topology machine) {
        return machine.gpus().stream()
                .map(gpu -> gpu.name() + " " + gpu.index() + " " + gpu.address().orElseThrow())
                .toList();
    }

    @Test
    void aMissingNumaNodeIsUnknownAndWarnedOf() {
        Topology machine =
                NcclTopology.read("vm", "<system version='1'><cpu>" + gpu("0000:01:00.0", "") + "</cpu></system>");
        assertThat(gpu(machine, 0).numa()).isEqualTo(-1);
        assertThat(machine.warnings()).singleElement().asString().contains("line 1", "numaid");
    }

    @Test
    void linksThatLeadNowhereAreLeftOutWithAWarning() {
        Topology machine = NcclTopology.read(
                "self",
                cpu(gpu(
                                "0000:01:00.0",
                                "",
                                "<nvlink target='0000:01:00.0' count='12' tclass='0x030200'/>"
                                        + "<nvlink target='0000:09:00.0' count='1' tclass='0x030200'/><nvlink target='0000:02:00.0' count='0' tclass='0x030200'/>")
                        + gpu("0000:02:00.0", "")));
        assertThat(machine.warnings()).hasSize(3);
        assertThat(type(machine, gpu(machine, 0), gpu(machine, 1))).isEqualTo(PathType.PHB);
    }

    @Test
    void aLinkThatOneSideDoesNotNameIsThere() {
        Topology machine = NcclTopology.read(
                "half",
                cpu(gpu("0000:01:00.0", "sm='80'")
                        + gpu(
                                "0000:02:00.0",
                                "sm='80'",
                                "<nvlink target='0000:01:00.0' count='4' tclass='0x030200'/>")));
        assertThat(machine.links(gpu(machine, 0), gpu(machine, 1))).containsExactly(new Link(LinkType.NVLINK, 80, 4));
    }

    @Test
    void nvlinkToTheProcessorIsAWayToTheOtherGpuOfIt() {
        String link = "<nvlink target='0000:00:00.0' count='3' tclass='0x068001'/>";
        Topology power = NcclTopology.read(
                "power", cpu(gpu("0000:01:00.0", "sm='70'", link) + gpu("0000:02:00.0", "sm='70'", link)));
        assertThat(type(power, gpu(power, 0), gpu(power, 1))).isEqualTo(PathType.NVL);
    }

    @Test
    void virtualFunctionsAreCardsOfTheirOwn() {
        Topology machine = NcclTopology.read(
                "vfs",
                cpu(card("0101:00:00.0", "device='0x101e'", net("mlx5_0", "port='1' guid='0x1'"))
                        + card("0102:00:00.0", "device='0x101e'", net("mlx5_1", "port='1' guid='0x1'"))));
        assertThat(machine.nics()).extracting(Nic::card).doesNotHaveDuplicates();
    }

    @Test
    void pathsOfOneSwitchInSeveralElementsAreOneSwitch() {
        String half = "<pci busid='0000:c5:00.0' class='0x060400'>%s</pci>";
        Topology machine = NcclTopology.read(
                "split",
                cpu(half.formatted(gpu("0000:01:00.0", ""))
                        + half.formatted(card("0000:02:00.0", "", net("mlx5_0", "port='1'")))));
        assertThat(type(machine, gpu(machine, 0), "mlx5_0")).isEqualTo(PathType.PIX);
    }

    private static String cpu(String inside) {
        return "<system version='1'>\n<cpu numaid='0' arch='x86_64' vendor='AuthenticAMD'>\n" + inside
                + "</cpu>\n</system>";
    }

    private static String gpu(String bus, String attributes, String... links) {
        return "<pci busid='" + bus + "' class='0x030200'><gpu " + attributes + ">" + String.join("", links)
                + "</gpu></pci>\n";
    }

    private static String card(String bus, String ids, String nets) {
        return "<pci busid='" + bus + "' class='0x020000' " + ids + "><nic>" + nets + "</nic></pci>\n";
    }

    private static String net(String name, String attributes) {
        return "<net name='" + name + "' " + attributes + "/>";
    }

    private static Gpu gpu(Topology topology, int index) {
        return topology.gpus().get(index);
    }

    private static Nic nic(Topology topology, String name) {
        List<Nic> named =
                topology.nics().stream().filter(nic -> nic.name().equals(name)).toList();
        assertThat(named).as(name).isNotEmpty();
        return named.get(0);
    }

    private static PathType type(Topology topology, Gpu gpu, String nic) {
        return type(topology, gpu, nic(topology, nic));
    }

    private static PathType type(Topology topology, Part from, Part to) {
        return topology.distance(from, to).orElseThrow().type();
    }
}
