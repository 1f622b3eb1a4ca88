package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.Distance;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.HostBridge;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A virtual machine with four GPUs and four NICs, each below a root port of its own, whose provider describes the true tree. */
@Tag("verify")
final class ProviderTreeTest {
    private static final String FILE = "/opt/provider/topo.xml";

    /** GPU i shares a switch with NIC 3 - i. */
    private static final String PROVIDER = provider(4);

    private static String provider(int pairs) {
        StringBuilder xml = new StringBuilder("<system version='1'>");
        for (int node = 0; node < 2; node++) {
            xml.append("<cpu numaid='").append(node).append("' affinity='ff'>");
            for (int i = node; i < pairs; i += 2) {
                xml.append("<pci busid='ffff:ff:0").append(i).append(".0' class='0x060400'>");
                xml.append("<pci busid='0000:1").append(i).append(":00.0' class='0x030200'/>");
                xml.append("<pci busid='0000:2").append(3 - i).append(":00.0' class='0x020700'/></pci>");
            }
            xml.append("</cpu>");
        }
        return xml.append("</system>").toString();
    }

    private static SysTree machine() {
        SysTree tree = new SysTree().nodes(1);
        for (int i = 0; i < 4; i++) {
            tree.pci("pci0000:00/0000:00:0" + (i + 1) + ".0/0000:1" + i + ":00.0", "10de 2335 030200", 0);
            String nic = "pci0000:00/0000:00:1" + i + ".0/0000:2" + i + ":00.0";
            tree.pci(nic, "15b3 1021 020700", 0).driver(nic, "mlx5_core");
            tree.verbs("mlx5_" + i, nic, "InfiniBand", "400 Gb/sec (4X NDR)");
        }
        tree.pci("pci0000:00/0000:00:1f.0", "1af4 1041 020000", 0).net("eth0", "pci0000:00/0000:00:1f.0", 10_000);
        tree.files.file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n");
        return tree;
    }

    @Test
    void theFileOfTheVariablePlacesDevices() {
        SysTree tree = machine();
        tree.files.file(FILE, PROVIDER);
        Topology machine = read(tree, Map.of("NCCL_TOPO_FILE", FILE));

        placed(machine);
        assertThat(machine.source()).isEqualTo("test, its PCI tree from NCCL_TOPO_FILE = " + FILE);
        assertThat(machine.warnings()).isEmpty();
    }

    @Test
    void theFileNeedsNoRatesForThoseOfTheMachineCount() {
        SysTree tree = machine();
        String file =
                PROVIDER.replace("class='0x020700'/>", "class='0x020700'><nic><net name='mlx5' port='1'/></nic></pci>");
        tree.files.file(FILE, file);
        Topology machine = read(tree, Map.of("NCCL_TOPO_FILE", FILE));

        placed(machine);
        assertThat(machine.warnings()).isEmpty();
        assertThat(NcclTopology.read("file", file).warnings()).isNotEmpty();
    }

    @Test
    void theFileThatNcclReadsByItselfPlacesDevices() {
        SysTree tree = machine();
        tree.files.linked("/var/run", "/run").file("/run/nvidia-topologyd/virtualTopology.xml", PROVIDER);
        Topology machine = read(tree, Map.of());

        placed(machine);
        assertThat(machine.source()).contains("virtualTopology.xml");
        assertThat(read(tree, Map.of("NCCL_TOPO_FILE", "/not/there")).warnings())
                .as("the variable goes first, as in NCCL")
                .anyMatch(warning -> warning.contains("NCCL_TOPO_FILE = /not/there cannot be read"));
    }

    private static void placed(Topology machine) {
        assertThat(machine.gpus()).hasSize(4);
        assertThat(machine.nics())
                .extracting(Nic::name)
                .containsExactlyInAnyOrder("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "eth0");
        for (int i = 0; i < 4; i++) {
            Gpu gpu = machine.gpus().get(i);
            assertThat(gpu.name()).isEqualTo("GPU" + i);
            assertThat(machine.nearestNics(gpu)).extracting(Nic::name).containsExactly("mlx5_" + (3 - i));
            assertThat(type(machine, gpu, nic(machine, "mlx5_" + (3 - i)))).isEqualTo(PathType.PIX);
            assertThat(type(machine, gpu, nic(machine, "mlx5_" + ((5 - i) % 4))))
                    .isEqualTo(PathType.PHB);
            assertThat(type(machine, gpu, nic(machine, "mlx5_" + ((4 - i) % 4))))
                    .isEqualTo(PathType.SYS);
            assertThat(type(machine, gpu, nic(machine, "eth0"))).isGreaterThanOrEqualTo(PathType.PHB);
            // The port and what is known of it are the machine's.
            assertThat(nic(machine, "mlx5_" + i).ports().get(0).gigabitsPerSecond())
                    .isEqualTo(400);
        }
        assertThat(machine.only(HostBridge.class)).as("for eth0").hasSize(1);
    }

    @Test
    void devicesThatTheFileLacksKeepTheirPlace() {
        SysTree tree = machine();
        tree.files.file(FILE, provider(2));
        Topology machine = read(tree, Map.of("NCCL_TOPO_FILE", FILE));

        assertThat(machine.gpus()).hasSize(4);
        assertThat(machine.nearestNics(machine.gpus().get(0)))
                .extracting(Nic::name)
                .containsExactly("mlx5_3");
        assertThat(type(machine, machine.gpus().get(3), nic(machine, "mlx5_0"))).isEqualTo(PathType.PHB);
        assertThat(machine.warnings()).singleElement().asString().contains("does not list 2 of 4 GPUs");
    }

    @Test
    void aFileThatCannotBeUsedIsAWarningAndChangesNothing() {
        SysTree tree = machine();
        for (String text : List.of("", "<system version='1'>", PROVIDER.replace("0000:", "0001:"), "plain text")) {
            tree.files.file(FILE, text);
            Topology machine = read(tree, Map.of("NCCL_TOPO_FILE", FILE));
            assertThat(machine.source()).isEqualTo("test");
            assertThat(machine.warnings())
                    .singleElement()
                    .asString()
                    .startsWith("the PCI tree of NCCL_TOPO_FILE = " + FILE + " is not used: ");
            assertThat(type(machine, machine.gpus().get(0), nic(machine, "mlx5_0")))
                    .isEqualTo(PathType.PHB);
        }
    }

    @Test
    void aFlatTreeOfAVirtualMachineWithoutAFileIsAWarning() {
        SysTree tree = machine();
        assertThat(read(tree, Map.of()).warnings())
                .singleElement()
                .asString()
                .contains("equally far", "NCCL_TOPO_FILE", ProviderTree.VIRTUAL);
        tree.files.file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme lahf_lm\n");
        assertThat(read(tree, Map.of()).warnings()).as("a machine of its own").isEmpty();
    }

    /** NCCL's files of settings may name it where the environment does not; of them the user's goes first. */
    @Test
    void filesOfNcclsSettingsNameIt() {
        SysTree tree = machine();
        tree.files
                .file(FILE, PROVIDER)
                .file("/etc/nccl.conf", "# site\nNCCL_DEBUG=WARN\nNCCL_TOPO_FILE=" + FILE + "\n");
        assertThat(read(tree, Map.of()).source()).endsWith("NCCL_TOPO_FILE = " + FILE + " of /etc/nccl.conf");
        tree.files.file("/home/a/.nccl.conf", "NCCL_TOPO_FILE=/not/there\n");
        assertThat(read(tree, Map.of("HOME", "/home/a")).warnings())
                .anyMatch(warning -> warning.contains("/not/there of /home/a/.nccl.conf cannot be read"));
        assertThat(read(tree, Map.of("HOME", "/home/a", "NCCL_CONF_FILE", "/none"))
                        .source())
                .contains(FILE);
    }

    /** Virtual machines with one node say -1, and files may know of nodes that the machine does not show. */
    @Test
    void everyDeviceIsReachableWhateverNumbersNodesHave() {
        for (String nodes : List.of("-1 -1", "0 1", "2 3")) {
            String[] number = nodes.split(" ", -1);
            SysTree tree = machine();
            tree.files.file(
                    FILE,
                    PROVIDER.replace("numaid='0'", "numaid='" + number[0] + "'")
                            .replace("numaid='1'", "numaid='" + number[1] + "'"));
            Topology machine = read(tree, Map.of("NCCL_TOPO_FILE", FILE));
            for (Gpu gpu : machine.gpus()) {
                assertThat(machine.nics())
                        .allSatisfy(nic ->
                                assertThat(machine.distance(gpu, nic)).as(nodes).isPresent());
            }
            assertThat(machine.numaNodes().stream()
                            .mapToInt(NumaNode::processors)
                            .sum())
                    .as("processors")
                    .isEqualTo(8);
        }
    }

    /** Scalable functions have the bus id of the function that they were made from. */
    @Test
    void allDevicesOfABusIdHaveItsPlace() {
        SysTree tree = machine();
        tree.verbs("mlx5_9", "pci0000:00/0000:00:10.0/0000:20:00.0", "InfiniBand", "400 Gb/sec (4X NDR)");
        tree.files.file(FILE, PROVIDER);
        Topology machine = read(tree, Map.of("NCCL_TOPO_FILE", FILE));
        for (String name : List.of("mlx5_0", "mlx5_9")) {
            assertThat(type(machine, machine.gpus().get(3), nic(machine, name))).isEqualTo(PathType.PIX);
        }
    }

    /** A file of two hosts, whose bus ids repeat: the host that lists most of the devices is this one. */
    @Test
    void theMatchingHostOfSeveralIsTaken() {
        String other = provider(2).replace("<cpu", "<cpu host_hash='0x2'");
        String own = PROVIDER.replace("<cpu", "<cpu host_hash='0x1'");
        for (String both : List.of(own + other, other + own)) {
            SysTree tree = machine();
            tree.files.file(FILE, both.replace("</system><system version='1'>", ""));
            Topology machine = read(tree, Map.of("NCCL_TOPO_FILE", FILE));
            placed(machine);
            assertThat(machine.parts()).allMatch(part -> part.host() == 0);
        }
    }

    @Test
    void ratesThatTheFileLacksAreTheMachines() {
        SysTree tree = machine();
        tree.files.file(FILE, PROVIDER);
        Topology untold = read(tree, Map.of("NCCL_TOPO_FILE", FILE));
        Gpu gpu = untold.gpus().get(0);
        PciSwitch port = untold.only(PciSwitch.class).get(0);
        assertThat(untold.links(gpu, port)).containsExactly(new Link(LinkType.PCI, 48, 1));
        tree.files.file(
                FILE,
                PROVIDER.replace("class='0x030200'", "class='0x030200' link_speed='16.0 GT/s PCIe' link_width='16'"));
        assertThat(read(tree, Map.of("NCCL_TOPO_FILE", FILE)).links(gpu, port))
                .as("what the file says holds")
                .containsExactly(new Link(LinkType.PCI, 24, 1));
    }

    /** A dump of NCCL on the machine itself: nothing is there twice. */
    @Test
    void aFileWithTheMachinesOwnSwitchesChangesNothing() {
        SysTree tree = Machines.twoSockets();
        Topology shown = LinuxTopology.read("test", tree.tree(), Map.of());
        StringBuilder xml = new StringBuilder("<system version='1'><cpu numaid='0' affinity='ff'>");
        PciSwitch upper = shown.only(PciSwitch.class).get(0);
        xml.append("<pci busid='").append(upper.address()).append("' class='0x060400' vendor='0x1000' device='0xc030'");
        xml.append(" subsystem_vendor='0x15b3' subsystem_device='0x0001' link_speed='32.0 GT/s PCIe' link_width='16'>");
        xml.append("<pci busid='").append(shown.gpus().get(0).address().orElseThrow());
        xml.append("' class='0x030200' link_speed='32.0 GT/s PCIe' link_width='16'/></pci></cpu></system>");
        tree.files.file(FILE, xml.toString());
        Topology placed = read(tree, Map.of("NCCL_TOPO_FILE", FILE));
        assertThat(placed.nics()).hasSameSizeAs(shown.nics());
        assertThat(placed.only(PciSwitch.class)).hasSameSizeAs(shown.only(PciSwitch.class));
        for (Gpu gpu : shown.gpus()) {
            for (Nic nic : shown.nics()) {
                assertThat(placed.distance(gpu, nic).map(Distance::gigabytesPerSecond))
                        .as(gpu.name() + " " + nic.name())
                        .isEqualTo(shown.distance(gpu, nic).map(Distance::gigabytesPerSecond));
            }
        }
    }

    @Test
    void linksOfGpusStay() {
        Topology machine = LinuxTopology.read("test", machine().tree(), Map.of());
        Topology.Builder linked = machine.copy("test", Optional::of);
        linked.link(machine.gpus().get(0), machine.gpus().get(2), new Link(LinkType.XGMI, 50, 1));
        linked.link(machine.gpus().get(0), machine.numaNodes().get(0), new Link(LinkType.C2C, 300, 1));
        SysTree tree = machine();
        tree.files.file(FILE, PROVIDER);
        Topology placed = ProviderTree.apply(linked.build(), tree.tree(), Map.of("NCCL_TOPO_FILE", FILE));
        assertThat(placed.links(placed.gpus().get(0), placed.gpus().get(2)))
                .containsExactly(new Link(LinkType.XGMI, 50, 1));
        assertThat(placed.links(placed.gpus().get(0), placed.numaNodes().get(0)))
                .containsExactly(new Link(LinkType.C2C, 300, 1));
    }

    private static Topology read(SysTree tree, Map<String, String> environment) {
        return LinuxTopology.read("test", tree.tree(), environment);
    }

    private static Nic nic(Topology machine, String name) {
        return machine.nics().stream()
                .filter(nic -> nic.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static PathType type(Topology machine, Part from, Part to) {
        return machine.distance(from, to).orElseThrow().type();
    }
}
