package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.HostBridge;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class LinuxTopologyTest {
    @Test
    void distancesFollowTheTree() {
        Topology machine = read(Machines.twoSockets());

        assertThat(type(machine, gpu(machine, 0), nic(machine, "ibp20s0"))).isEqualTo(PathType.PIX);
        assertThat(type(machine, gpu(machine, 1), nic(machine, "ibp20s0"))).isEqualTo(PathType.PXB);
        assertThat(type(machine, gpu(machine, 0), gpu(machine, 1))).isEqualTo(PathType.PXB);
        assertThat(type(machine, gpu(machine, 2), nic(machine, "ibp20s0"))).isEqualTo(PathType.PHB);
        assertThat(type(machine, gpu(machine, 0), nic(machine, "mlx5_1"))).isEqualTo(PathType.NODE);
        assertThat(type(machine, gpu(machine, 0), nic(machine, "rdmap129s0"))).isEqualTo(PathType.SYS);
    }

    @Test
    void aSwitchIsOnePartAndPortsAreNone() {
        Topology machine = read(Machines.twoSockets());

        assertThat(machine.only(PciSwitch.class))
                .extracting(found -> found.address().toString())
                .containsExactly("0000:11:00.0", "0000:15:00.0");
        assertThat(machine.only(HostBridge.class))
                .extracting(HostBridge::name)
                .containsExactly("pci0000:10", "pci0000:20", "pci0000:80");
    }

    @Test
    void aLinkIsAsFastAsItsSlowerEnd() {
        Topology machine = read(Machines.twoSockets());
        Part switchAbove = machine.only(PciSwitch.class).get(0);

        assertThat(machine.links(gpu(machine, 0), switchAbove)).containsExactly(new Link(LinkType.PCI, 48, 1));
        assertThat(machine.links(gpu(machine, 2), machine.only(HostBridge.class).get(0)))
                .containsExactly(new Link(LinkType.PCI, 12, 1));
    }

    @Test
    void processorsAreCountedAsNcclDoes() {
        assertThat(read(Machines.twoSockets()).numaNodes())
                .containsExactly(
                        new NumaNode(0, 0, new Processor("x86_64", "GenuineIntel", 6, 143), 8),
                        new NumaNode(0, 1, new Processor("x86_64", "GenuineIntel", 6, 143), 8));
        assertThat(read(Machines.instinct()).numaNodes().get(0).processor())
                .isEqualTo(new Processor("x86_64", "AuthenticAMD", 175, 17));
        SysTree arm = new SysTree().nodes(1);
        arm.files.file("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n");
        assertThat(read(arm).numaNodes().get(0).processor().architecture()).isEqualTo("arm64");
    }

    @ParameterizedTest
    @CsvSource({
        // file, what it has, how the warning names it
        "sys/class/infiniband/mlx5_1/ports/1/rate, '', mlx5_1:1 (rate cannot be read)",
        "sys/class/infiniband/mlx5_1/ports/1/rate, unknown, mlx5_1:1 (rate is \"unknown\")",
        "sys/class/infiniband/mlx5_1/ports/1/rate, 1.2.3 Gb/sec, mlx5_1:1 (rate is \"1.2.3 Gb/sec\")",
        "sys/class/net/eth7/speed, 4294967295, eth7 (speed is \"4294967295\")",
        "sys/class/net/eth7/speed, fast, eth7 (speed is \"fast\")",
    })
    void aRateThatCannotBeReadIsNamedOnceWithWhatIsTaken(String file, String text, String named) {
        SysTree tree = withEthernet();
        replace(tree, file, text);
        Topology machine = read(tree);
        assertThat(machine.warnings())
                .singleElement()
                .asString()
                .startsWith("rates are not known")
                .endsWith("what the PCIe link allows (for EFA, the rate of the NIC's model) is used: " + named);
        String name = named.split("[ :]", 2)[0];
        assertThat(nic(machine, name).gigabitsPerSecond()).isZero();

        boolean verbs = name.startsWith("mlx5");
        replace(
                tree,
                verbs ? "sys/class/infiniband/mlx5_1/ports/1/state" : "sys/class/net/eth7/operstate",
                verbs ? "1: DOWN" : "down");
        assertThat(read(tree).warnings()).as("a port that is down").isEmpty();
    }

    @Test
    void portsWithoutARateAreNamedTogetherAndVirtualInterfacesNotAtAll() {
        SysTree tree = withEthernet();
        for (String name : List.of("veth0", "docker0", "br-1")) {
            String folder = "/sys/devices/virtual/net/" + name;
            tree.files
                    .linked("/sys/class/net/" + name, folder)
                    .file(folder + "/type", "1\n")
                    .file(folder + "/operstate", "up\n")
                    .file(folder + "/speed", "-1\n");
        }
        replace(tree, "sys/class/net/eth7/speed", "-1");
        assertThat(read(tree).warnings()).as("a virtual adapter").isEmpty();
        replace(tree, "sys/class/net/eth7/speed", "");
        assertThat(read(tree).warnings()).as("a driver without the setting").isEmpty();
        replace(tree, "sys/class/infiniband/ibp20s0/ports/1/rate", "?");
        tree.files.file(tree.files.real("/sys/class/net/eth7").orElseThrow() + "/speed", "?");
        assertThat(read(tree).warnings()).singleElement().asString().contains("ibp20s0:1", "eth7");
    }

    @Test
    void anAdapterWithoutAPciAddressHasNoPcieLinkThatCounts() {
        SysTree tree = Machines.twoSockets();
        tree.files
                .linked("/sys/class/net/eth8", "/sys/devices/vif-0/net/eth8")
                .linked("/sys/devices/vif-0/net/eth8/device", "/sys/devices/vif-0")
                .file("/sys/devices/vif-0/net/eth8/type", "1\n")
                .file("/sys/devices/vif-0/net/eth8/operstate", "up\n");
        assertThat(nic(read(tree), "eth8").address()).isEmpty();
        assertThat(read(tree).warnings()).as("without a speed").isEmpty();
        tree.files.file("/sys/devices/vif-0/net/eth8/speed", "?\n");
        assertThat(read(tree).warnings())
                .containsExactly("rates are not known, so an assumed rate is used: eth8 (speed is \"?\")");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 64, 200})
    void everyPortWithoutARateIsNamedHoweverManyThereAre(int ports) {
        SysTree tree = withEthernet();
        replace(tree, "sys/class/infiniband/ibp20s0/ports/1/rate", "?");
        for (int port = 1; port < ports; port++) {
            tree.verbs("mlx5_" + (100 + port), "pci0000:20/0000:20:02.0/0000:22:00.0", "InfiniBand", "?");
        }
        List<String> warnings = read(tree).warnings();
        Pattern name = Pattern.compile("\\w+:1 \\(rate is \"\\?\"\\)");
        assertThat(warnings.stream()
                        .flatMap(warning -> name.matcher(warning).results().map(MatchResult::group)))
                .doesNotHaveDuplicates()
                .hasSize(ports);
        assertThat(warnings)
                .allSatisfy(warning ->
                        assertThat(warning).startsWith("rates are not known").hasSizeLessThanOrEqualTo(1000));
        assertThat(warnings.size() > 1).isEqualTo(ports > 2);
        if (ports > 2) {
            assertThat(warnings.get(0)).contains(" is used: 1 to ", " of " + ports + ": ");
            assertThat(warnings.get(warnings.size() - 1)).contains(" to " + ports + " of " + ports + ": ");
        }
    }

    @Test
    void aSlingshotPortThatIsUpWithoutARateIsNamed() {
        String path = "pci0000:20/0000:20:02.0/0000:22:00.0";
        SysTree tree = Machines.twoSockets()
                .port("pci0000:20/0000:20:02.0", 0)
                .pci(path, "17db 0501 020000", 0)
                .driver(path, "cxi_ss1")
                .net("hsn0", path, 200_000);
        tree.files
                .linked("/sys/class/cxi/cxi0", "/sys/devices/" + path + "/cxi/cxi0")
                .linked("/sys/devices/" + path + "/cxi/cxi0/device", "/sys/devices/" + path);
        assertThat(nic(read(tree), "cxi0").gigabitsPerSecond()).isEqualTo(200);
        assertThat(read(tree).warnings()).isEmpty();
        replace(tree, "sys/class/net/hsn0/speed", "-1");
        assertThat(read(tree).warnings()).singleElement().asString().endsWith(": cxi0 (speed is \"-1\")");
    }

    private static SysTree withEthernet() {
        String path = "pci0000:20/0000:20:02.0/0000:22:00.0";
        return Machines.twoSockets()
                .port("pci0000:20/0000:20:02.0", 0)
                .pci(path, "8086 1563 020000", 0)
                .net("eth7", path, 10_000);
    }

    /** Writes a file that is there, or takes it away where there is no text. */
    private static void replace(SysTree tree, String file, String text) {
        String folder = "/" + file.substring(0, file.lastIndexOf('/'));
        String path = tree.files.real(folder).orElseThrow() + file.substring(file.lastIndexOf('/'));
        assertThat(tree.files.files).containsKey(path);
        if (text.isEmpty()) {
            tree.files.files.remove(path);
        } else {
            tree.files.file(path, text);
        }
    }

    @Test
    void familiesComeFromDriversNotFromNames() {
        Topology machine = read(Machines.twoSockets());

        assertThat(nic(machine, "ibp20s0").family()).isEqualTo(NicFamily.MLX5);
        assertThat(nic(machine, "ibp20s0").driver()).isEqualTo("mlx5_core");
        assertThat(nic(machine, "rdmap129s0").family()).isEqualTo(NicFamily.EFA);
        assertThat(nic(machine, "rdmap129s0").ports().get(0).linkLayer()).isEqualTo(NicReach.LinkLayer.UNSPECIFIED);
    }

    @Test
    void aRocePortHasItsGidsItsInterfaceAndTheMtuThatFits() {
        NicPort port = nic(read(Machines.twoSockets()), "mlx5_1").ports().get(0);

        assertThat(port.gids())
                .containsExactly(
                        new Gid(0, "fe80:0000:0000:0000:0a00:00ff:fe00:0001", "IB/RoCE v1", "eth1"),
                        new Gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2", "eth1"));
        assertThat(port.state()).isEqualTo(NicPort.State.ACTIVE);
        assertThat(port.gigabitsPerSecond()).isEqualTo(200);
        assertThat(port.netdev()).isEqualTo("eth1");
        assertThat(port.activeMtu()).isEqualTo(4096);
    }

    @Test
    void aRocePortOfAnInterfaceWithSmallFramesHasASmallMtu() {
        SysTree tree = Machines.twoSockets();
        tree.files.file(tree.files.real("/sys/class/net/eth1").orElseThrow() + "/mtu", "1500");

        assertThat(nic(read(tree), "mlx5_1").ports().get(0).activeMtu()).isEqualTo(1024);
    }

    @Test
    void anInterfaceOfARdmaNicIsNoSecondNic() {
        assertThat(read(Machines.twoSockets()).nics())
                .extracting(Nic::name)
                .containsExactly("ibp20s0", "mlx5_1", "rdmap129s0");
    }

    @Test
    void interfacesWithoutADeviceAreNoNics() {
        SysTree tree = new SysTree().nodes(1).pci("pci0000:00/0000:00:03.0", "1af4 1041 020000", -1);
        tree.net("eth0", "pci0000:00/0000:00:03.0", -1);
        tree.files
                .file("/sys/devices/virtual/net/docker0/type", "1")
                .linked("/sys/class/net/docker0", "/sys/devices/virtual/net/docker0");

        assertThat(read(tree).nics()).singleElement().satisfies(nic -> {
            assertThat(nic.name()).isEqualTo("eth0");
            assertThat(nic.family()).isEqualTo(NicFamily.ETHERNET);
            assertThat(nic.gpuDirect()).contains(false);
            assertThat(nic.gigabitsPerSecond()).isZero();
        });
    }

    @Test
    void verbsInSoftwareAreReported() {
        Topology machine = read(new SysTree().nodes(1).software("a", "1: CA").software("b", "4: RNIC"));

        assertThat(nic(machine, "a").family()).isEqualTo(NicFamily.RXE);
        assertThat(nic(machine, "b").family()).isEqualTo(NicFamily.SIW);
        assertThat(nic(machine, "a").gpuDirect()).contains(false);
    }

    @Test
    void nicsThatServeNvlinkSwitchesCarryNoTraffic() {
        String path = "pci0000:10/0000:10:01.0/0000:11:00.0";
        SysTree tree = new SysTree()
                .nodes(1)
                .pci(path, "15b3 1021 020700", "15b3 0087", 0, "32.0 GT/s PCIe", 2)
                .driver(path, "mlx5_core")
                .verbs("mlx5_9", path, "InfiniBand", "400 Gb/sec (4X NDR)");

        assertThat(nic(read(tree), "mlx5_9").compute()).isFalse();
    }

    @Test
    void portsOfOneCardHaveTheSameCard() {
        SysTree tree = new SysTree().nodes(1);
        for (int function = 0; function < 2; function++) {
            String path = "pci0000:10/0000:10:01.0/0000:11:00." + function;
            tree.pci(path, Machines.CX7, 0).verbs("mlx5_" + function, path, "Ethernet", "100 Gb/sec (2X NDR)");
        }
        Topology machine = read(tree);
        assertThat(nic(machine, "mlx5_0").card())
                .isEqualTo(nic(machine, "mlx5_1").card());
    }

    @Test
    void aMachineWithOneNodeKnowsWhereUnknownDevicesAre() {
        SysTree tree = new SysTree().nodes(1).pci("pci0000:00/0000:00:06.0", Machines.GPU, -1);

        Topology machine = read(tree);
        assertThat(gpu(machine, 0).numa()).isZero();
        assertThat(machine.numaNodes()).hasSize(1);
        assertThat(machine.warnings()).isEmpty();
    }

    @Test
    void devicesOnAnUnknownNodeOfSeveralGetAWarning() {
        SysTree tree = new SysTree()
                .nodes(2)
                .pci("pci0000:00/0000:00:06.0", Machines.GPU, -1)
                .pci("pci0000:01/0000:01:06.0", Machines.GPU, -1);

        Topology machine = read(tree);
        assertThat(gpu(machine, 0).numa()).isEqualTo(-1);
        assertThat(type(machine, gpu(machine, 0), gpu(machine, 1))).isEqualTo(PathType.NODE);
        assertThat(machine.warnings()).singleElement().asString().contains("numa_node -1");
    }

    @Test
    void displayAdaptersOfServersAreNoGpus() {
        SysTree tree = new SysTree().nodes(1).pci("pci0000:00/0000:00:01.0", "1a03 2000 030000", 0);

        assertThat(read(tree).gpus()).isEmpty();
    }

    @Test
    void gpusOfNvidiaAreInTheOrderOfTheirAddressesWithWideDomainsLast() {
        SysTree tree = new SysTree()
                .nodes(1)
                .pci("pci10000:e0/10000:e0:06.0/10000:e1:00.0", Machines.GPU, 0)
                .pci(
                        "LNXSYSTM:00/VMBUS:00/47505500-0001-0000-3130-444531303244/pci0002:00/0002:00:00.0",
                        Machines.GPU,
                        0)
                .pci("pci0001:00/0001:00:00.0", Machines.GPU, 0);

        assertThat(read(tree).gpus())
                .extracting(gpu -> gpu.address().orElseThrow().toString())
                .containsExactly("0001:00:00.0", "0002:00:00.0", "10000:e1:00.0");
    }

    @Test
    void gpusOfNvidiaHaveNoGpuDirectWhereNeitherWayToItIsThere() {
        String closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1";
        String open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65";

        assertThat(gpuDirect(closed, "6.8.0")).contains(false);
        assertThat(gpuDirect(open, "5.4.0-100")).contains(false);
        assertThat(gpuDirect(open, "5.12.0")).isEmpty();
        assertThat(gpuDirect(open, "")).isEmpty();
        assertThat(gpuDirect("", "6.8.0")).isEmpty();
        assertThat(gpuDirect(closed, "6.8.0", "/sys/module/nvidia_peermem/version"))
                .isEmpty();
        assertThat(gpuDirect(closed, "5.4.0", "/sys/kernel/mm/memory_peers/nv_mem/version"))
                .isEmpty();
    }

    @Test
    void withoutTheDriverGpuDirectIsUnknown() {
        assertThat(read(Machines.twoSockets()).gpus())
                .extracting(Gpu::gpuDirect)
                .containsOnly(Optional.empty());
    }

    private static Optional<Boolean> gpuDirect(String driver, String kernel, String... others) {
        SysTree tree = new SysTree().nodes(1).pci("pci0000:00/0000:00:01.0", Machines.GPU, 0);
        tree.files
                .file("/sys/module/nvidia/version", "")
                .file("/proc/driver/nvidia/version", driver)
                .file("/proc/sys/kernel/osrelease", kernel);
        for (String other : others) {
            tree.files.file(other, "");
        }
        return read(tree).gpus().get(0).gpuDirect();
    }

    @Test
    void gpusOfAmdAreInTheOrderOfKfd() {
        Topology machine = read(Machines.instinct());

        assertThat(machine.gpus())
                .extracting(gpu -> gpu.address().orElseThrow().bus())
                .containsExactly(0x45, 0x05, 0x9b, 0x85);
        assertThat(machine.gpus()).extracting(Gpu::architecture).containsOnly("gfx942");
        assertThat(machine.gpus()).extracting(Gpu::numa).containsExactly(0, 0, 1, 1);
        assertThat(machine.gpus()).extracting(Gpu::vendor).containsOnly(GpuVendor.AMD);
    }

    @Test
    void gpusWithoutKfdAreFoundOnPci() {
        SysTree tree = new SysTree().nodes(1).pci("pci0000:00/0000:00:01.0/0000:01:00.0", "1002 74a1 120000", 0);

        assertThat(read(tree).gpus()).singleElement().satisfies(gpu -> {
            assertThat(gpu.vendor()).isEqualTo(GpuVendor.AMD);
            assertThat(gpu.address()).contains(new PciAddress(0, 1, 0, 0));
        });
    }

    @Test
    void weightsShowXgmiThroughAnotherGpu() {
        Topology machine = read(Machines.instinct());

        assertThat(machine.links(gpu(machine, 0), gpu(machine, 1))).containsExactly(new Link(LinkType.XGMI, 48, 1));
        assertThat(machine.links(gpu(machine, 0), gpu(machine, 3))).isEmpty();
        assertThat(machine.distance(gpu(machine, 0), gpu(machine, 3))).contains(new Distance(PathType.NVB, 48, 2));
        assertThat(Localities.of(machine, gpu(machine, 0), -1)
                        .peer(3)
                        .orElseThrow()
                        .via())
                .containsExactly(1, 2);
    }

    @Test
    void xgmiThroughGpusThatAreNotShownIsSlower() {
        SysTree tree = new SysTree().nodes(1).kfd(0, "cpu_cores_count 96\nsimd_count 0\n");
        for (int gpu = 1; gpu <= 2; gpu++) {
            tree.kfd(gpu, "cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\nlocation_id " + (gpu << 8))
                    .kfdLink("io_links", gpu, 3 - gpu, 11, 30, 64000, 64000);
        }
        Topology machine = read(tree);

        assertThat(machine.links(gpu(machine, 0), gpu(machine, 1))).containsExactly(new Link(LinkType.XGMI, 24, 1));
        assertThat(type(machine, gpu(machine, 0), gpu(machine, 1))).isEqualTo(PathType.NVL);
    }

    @Test
    void linksWithoutAtomicsAreReported() {
        SysTree tree = Machines.instinct();
        tree.files.file(KfdNode.FOLDER + "/nodes/2/io_links/0/properties", "type 2\nnode_to 0\nweight 20\nflags 13\n");

        assertThat(read(tree).warnings()).singleElement().asString().contains("GPU0 has no PCIe atomics");
    }

    @Test
    void aGpuInThePackageOfAProcessorIsJoinedByAChipLink() {
        SysTree tree = new SysTree()
                .nodes(1)
                .kfd(0, "cpu_cores_count 24\nsimd_count 912\ngfx_target_version 90402\nlocation_id 256\ndomain 0\n");

        Topology machine = read(tree);
        assertThat(machine.links(gpu(machine, 0), machine.numaNodes().get(0)))
                .extracting(Link::type)
                .containsExactly(LinkType.C2C);
    }

    @Test
    void aGpuWithoutItsDriverIsLeftOutAndNamed() {
        SysTree tree = new SysTree().nodes(1);
        for (int i = 1; i <= 5; i++) {
            tree.pci("pci0000:00/0000:00:0" + i + ".0/0000:0" + i + ":00.0", "10de 2335 030200", 0);
        }
        tree.driver("pci0000:00/0000:00:02.0/0000:02:00.0", "vfio-pci");
        tree.files.links.remove("/sys/devices/pci0000:00/0000:00:03.0/0000:03:00.0/driver");
        for (int i : new int[] {1, 2, 3, 5}) {
            tree.files.file("/proc/driver/nvidia/gpus/0000:0" + i + ":00.0/information", "Model: NVIDIA H100\n");
        }
        Topology machine = read(tree);

        assertThat(machine.gpus())
                .extracting(gpu -> gpu.name() + " " + gpu.address().orElseThrow())
                .containsExactly("GPU0 0000:01:00.0", "GPU1 0000:05:00.0");
        assertThat(machine.warnings())
                .satisfiesExactly(
                        warning -> assertThat(warning)
                                .contains("0000:02:00.0", "NVIDIA", "0x2335", "its driver is vfio-pci"),
                        warning -> assertThat(warning).contains("0000:03:00.0", "no driver is bound to it"),
                        warning -> assertThat(warning).contains("0000:04:00.0", "/proc/driver/nvidia/gpus"));
    }

    /** Who records {@code /sys} may leave out the links to drivers. */
    @Test
    void withoutAnyDriverInTheFilesGpusCount() {
        SysTree tree = new SysTree().nodes(1).pci("pci0000:00/0000:00:01.0/0000:01:00.0", "1002 74a1 120000", 0);
        tree.files.links.remove("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/driver");
        assertThat(read(tree).gpus()).hasSize(1);
        assertThat(read(tree).warnings()).isEmpty();
    }

    @Test
    void anEmptyTreeIsAMachineWithoutDevices() {
        Topology machine = LinuxTopology.read("empty", new MemoryTree(), Map.of());

        assertThat(machine.parts()).isEmpty();
        assertThat(machine.hosts()).hasSize(1);
        assertThat(machine.warnings()).isEmpty();
    }

    @Test
    void thisMachineCanBeRead() {
        Topology machine = Topologies.live();

        assertThat(machine.hosts()).hasSize(1);
        assertThat(machine.source()).isEqualTo("this machine");
    }

    private static Topology read(SysTree tree) {
        return LinuxTopology.read("test", tree.tree(), Map.of());
    }

    private static Gpu gpu(Topology machine, int index) {
        return machine.gpus().get(index);
    }

    private static Nic nic(Topology machine, String name) {
        Optional<Nic> found =
                machine.nics().stream().filter(nic -> nic.name().equals(name)).findFirst();
        assertThat(found).as(name + " in " + List.copyOf(machine.nics())).isPresent();
        return found.orElseThrow();
    }

    private static PathType type(Topology machine, Part from, Part to) {
        return machine.distance(from, to).orElseThrow().type();
    }
}
