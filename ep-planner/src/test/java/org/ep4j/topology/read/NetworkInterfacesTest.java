package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.util.Map;
import org.ep4j.plan.offer.NicPaths;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;
import org.ep4j.topology.model.GidChoice;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Which ports a process can send from, and by which interface, where {@code /sys} shows more than its network namespace has. */
@Tag("verify")
final class NetworkInterfacesTest {
    private static final String PCI = "pci0000:10/0000:10:01.0/0000:11:00.";
    private static final String V1 = "IB/RoCE v1";
    private static final String V2 = "RoCE v2";

    private final SysTree sys = new SysTree().nodes(1).port("pci0000:10/0000:10:01.0", 0);

    private SysTree roce(String name, int function) {
        return sys.pci(PCI + function, "15b3 1021 020000", 0)
                .driver(PCI + function, "mlx5_core")
                .verbs(name, PCI + function, "Ethernet", "100 Gb/sec (2X HDR)");
    }

    private Topology machine() {
        return LinuxTopology.read("test", sys.tree(), Map.of());
    }

    private NicPort port(String name) {
        return nic(name).ports().get(0);
    }

    private Nic nic(String name) {
        return machine().nics().stream()
                .filter(nic -> nic.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private Map<Integer, PortObstacle> obstacles(String name, int gidIndex) {
        return Localities.ofHost(machine(), 0, -1, gidIndex).nics().stream()
                .filter(nic -> nic.name().equals(name))
                .map(NicReach::obstacles)
                .findFirst()
                .orElseThrow();
    }

    private static String linkLocal(int last) {
        return String.format("fe80:0000:0000:0000:0a00:00ff:fe00:%04x", last);
    }

    private static String ipv4(int last) {
        return String.format("0000:0000:0000:0000:0000:ffff:0a00:00%02x", last);
    }

    private void route(String... rows) {
        StringBuilder table = new StringBuilder("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n");
        for (String row : rows) {
            String[] word = row.split(" ", -1);
            // Addresses are words in the order of the network.
            table.append(word[0]).append("\t00").append(word[1]).append("000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n");
        }
        sys.files.file("/proc/net/route", table.toString());
    }

    private void virtual(String name, String... lower) {
        String folder = "/sys/devices/virtual/net/" + name;
        sys.files
                .linked("/sys/class/net/" + name, folder)
                .file(folder + "/type", "1\n")
                .file(folder + "/mtu", "1500\n");
        for (String member : lower) {
            sys.files.linked(folder + "/lower_" + member, "/sys/class/net/" + member);
        }
    }

    @Test
    void sendsFromTheAddressOfItsOwnNamespace() {
        roce("mlx5_0", 0)
                .net("eth1", PCI + 0, 100_000)
                .gid("mlx5_0", 2, ipv4(250), V1, "")
                .gid("mlx5_0", 3, ipv4(250), V2, "")
                .gid("mlx5_0", 6, ipv4(2), V1, "eth1")
                .gid("mlx5_0", 7, ipv4(2), V2, "eth1");

        assertThat(GidChoice.of(port("mlx5_0")).index()).isEqualTo(7);
        assertThat(GidChoice.of(port("mlx5_0"), 3).verdict()).isEqualTo(GidChoice.Verdict.FOREIGN);
        assertThat(obstacles("mlx5_0", -1)).isEmpty();
    }

    @Test
    void portsOfOtherNamespacesAreLeftOut() {
        sys.net("net9", "pci0000:10/0000:10:01.0", 100);
        roce("mlx5_0", 0).gid("mlx5_0", 1, linkLocal(1), V2, "").gid("mlx5_0", 3, ipv4(250), V2, "ens7");

        Topology machine = machine();
        assertThat(machine.isForeign(machine.nics().get(0), -1)).isTrue();
        assertThat(obstacles("mlx5_0", -1)).containsExactly(Map.entry(1, PortObstacle.OTHER_NAMESPACE));
        assertThat(port("mlx5_0").network(3)).isEmpty();
    }

    @Test
    void anEntryOfTheHostThatTheUserNamesIsTriedOnlyWhereNoPortHasAnOwnOne() {
        sys.net("net9", "pci0000:10/0000:10:01.0", 100);
        roce("mlx5_0", 0).gid("mlx5_0", 3, ipv4(250), V2, "ens7");
        assertThat(obstacles("mlx5_0", 3)).isEmpty();
        assertThat(obstacles("mlx5_0", 4)).containsExactly(Map.entry(1, PortObstacle.NO_GID));

        roce("mlx5_1", 1).net("net1", PCI + 1, 100_000).gid("mlx5_1", 3, ipv4(1), V2, "net1");
        assertThat(obstacles("mlx5_0", 3))
                .as("as NCCL_IB_GID_INDEX=3 of a job's template")
                .isNotEmpty();
        assertThat(obstacles("mlx5_1", 3)).isEmpty();
    }

    @Test
    void aFunctionWithAnInterfaceOfTheSameNameElsewhereIsForeignWithAllItsAddresses() {
        for (int function = 2; function < 4; function++) {
            roce("mlx5_" + function, function)
                    .gid("mlx5_" + function, 1, linkLocal(function), V2, "net1")
                    .gid("mlx5_" + function, 2, "fd00:0000:0000:0000:0000:0000:0000:000" + function, V2, "net1");
        }
        sys.net("net1", PCI + 2, 100_000);

        assertThat(obstacles("mlx5_2", -1)).isEmpty();
        assertThat(obstacles("mlx5_3", -1)).containsValue(PortObstacle.OTHER_NAMESPACE);
    }

    @Test
    void aForeignAddressOfAnInterfaceSpeaksForItsOthers() {
        virtual("eth0");
        roce("mlx5_0", 0)
                .gid("mlx5_0", 1, linkLocal(1), V2, "eth0")
                .gid("mlx5_0", 2, "fd00:0000:0000:0000:0000:0000:0000:0009", V2, "eth0")
                .gid("mlx5_0", 3, ipv4(250), V2, "eth0");
        sys.files.file("/proc/net/fib_trie", "Main:\n     |-- 10.0.0.7\n        /32 host LOCAL\n");
        assertThat(obstacles("mlx5_0", -1)).containsValue(PortObstacle.OTHER_NAMESPACE);
    }

    @Test
    void anIpv6AddressThatIsNotOfThisNamespaceIsForeign() {
        virtual("eth0");
        for (int nic = 0; nic < 2; nic++) {
            roce("mlx5_" + nic, nic).gid("mlx5_" + nic, 2, "fd00:0000:0000:0000:0000:0000:0000:000" + nic, V2, "eth0");
        }
        sys.files.file("/proc/net/if_inet6", """
                00000000000000000000000000000001 01 80 10 80       lo
                fd000000000000000000000000000001 02 40 00 80     eth0
                """);
        assertThat(obstacles("mlx5_0", -1)).containsValue(PortObstacle.OTHER_NAMESPACE);
        assertThat(obstacles("mlx5_1", -1)).isEmpty();
        assertThat(port("mlx5_1").network()).as("routes of IPv6 are not known").isEmpty();
    }

    @Test
    void anInterfaceOfThisNamespaceIsNotTakenForOneOfThatNameElsewhere() {
        String plain = "pci0000:10/0000:10:02.0";
        sys.pci(plain, "8086 1572 020000", 0).net("eth0", plain, 10_000);
        roce("mlx5_0", 0).gid("mlx5_0", 3, ipv4(250), V2, "eth0");

        assertThat(machine().nics()).extracting(Nic::name).containsExactlyInAnyOrder("mlx5_0", "eth0");
        assertThat(port("mlx5_0").netdev()).isEmpty();
    }

    @Test
    void infiniBandKeepsItsEntryWhereTheNamedOneIsNotInUse() {
        sys.pci(PCI + 1, "15b3 1021 020700", 0).verbs("mlx5_1", PCI + 1, "InfiniBand", "400 Gb/sec");
        sys.gid("mlx5_1", 0, "fe80:0000:0000:0000:9803:9b03:0012:3456", V1, "");
        assertThat(obstacles("mlx5_1", 3)).isEmpty();
        assertThat(GidChoice.of(port("mlx5_1"), 3).index()).isZero();
        assertThat(port("mlx5_1").network()).isEqualTo("fe80:0000:0000:0000");
        sys.gid("mlx5_1", 1, "fe80:0000:0012:0000:9803:9b03:0012:3456", V1, "");
        assertThat(port("mlx5_1").network()).as("by a routable id").isEmpty();
    }

    @Test
    void aVirtualFunctionOfAnotherNetworkIsANicOfItsOwnWithoutARateOfItsOwn() {
        for (int function = 0; function < 2; function++) {
            roce("mlx5_" + function, function)
                    .net("eth" + function, PCI + function, 100_000)
                    .gid("mlx5_" + function, 3, ipv4(function + 1), V2, "eth" + function);
        }
        sys.files.linked("/sys/devices/" + PCI + "1/physfn", "/sys/devices/" + PCI + "0");
        route("eth0 01", "eth1 02");

        NicPaths paths = NicPaths.of(Localities.ofHost(machine(), 0, -1, -1), nic -> true)
                .orElseThrow();
        assertThat(paths.names()).containsExactly("mlx5_0:1", "mlx5_1:1");
        assertThat(paths.gigabytesPerSecond()).isLessThan(12.5);
    }

    @Test
    void theFunctionBelowAnotherInterfaceOfAVirtualMachineIsNoNic() {
        for (int function = 0; function < 2; function++) {
            sys.pci(PCI + function, "8086 1572 020000", 0).net("eth" + function, PCI + function, 25_000);
        }
        sys.files.linked("/sys/devices/" + PCI + "1/net/eth1/master", "/sys/class/net/eth0");
        assertThat(machine().nics()).extracting(Nic::name).containsExactly("eth0");
    }

    @Test
    void aNameThatStandsForSomethingElseHereIsForeign() {
        sys.pci("pci0000:10/0000:10:02.0", "8086 1572 020000", 0).net("eth0", "pci0000:10/0000:10:02.0", 10_000);
        roce("mlx5_0", 0).gid("mlx5_0", 3, ipv4(250), V2, "eth0");

        assertThat(obstacles("mlx5_0", -1)).containsValue(PortObstacle.OTHER_NAMESPACE);
    }

    @Test
    void anAddressThatIsNotLocalIsForeignWhateverItsInterfaceIsCalled() {
        virtual("eth0");
        roce("mlx5_0", 0).gid("mlx5_0", 3, ipv4(250), V2, "eth0");
        roce("mlx5_1", 1).gid("mlx5_1", 3, ipv4(7), V2, "eth0");
        sys.files.file(
                "/proc/net/fib_trie", "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.7\n        /32 host LOCAL\n");

        assertThat(obstacles("mlx5_0", -1)).containsValue(PortObstacle.OTHER_NAMESPACE);
        assertThat(obstacles("mlx5_1", -1)).isEmpty();
    }

    @Test
    void portsWithoutAnAddressAreLeftOut() {
        sys.net("eth0", PCI + 0, 100_000).net("eth1", PCI + 1, 100_000);
        roce("mlx5_0", 0).gid("mlx5_0", 0, linkLocal(1), V1, "eth0").gid("mlx5_0", 1, linkLocal(1), V2, "eth0");
        roce("mlx5_1", 1);

        assertThat(obstacles("mlx5_0", -1)).containsExactly(Map.entry(1, PortObstacle.LINK_LOCAL));
        assertThat(obstacles("mlx5_1", -1)).containsExactly(Map.entry(1, PortObstacle.NO_GID));
    }

    @Test
    void missingInterfaceFilesAreNotHeldAgainstAPort() {
        roce("mlx5_0", 0).gid("mlx5_0", 3, ipv4(1), V2, "ens1");
        assertThat(obstacles("mlx5_0", -1))
                .as("a recording without /sys/class/net")
                .isEmpty();
        sys.pci(PCI + 1, "15b3 1021 020700", 0).verbs("mlx5_1", PCI + 1, "InfiniBand", "400 Gb/sec");
        sys.gid("mlx5_1", 0, "fe80:0000:0000:0000:9803:9b03:0012:3456", V1, "");
        sys.net("eth0", PCI + 2, 100);
        assertThat(obstacles("mlx5_1", -1))
                .as("InfiniBand without an interface")
                .isEmpty();
    }

    @Test
    void tablesAreReadToTheirEnd() {
        roce("mlx5_0", 0).net("eth0", PCI + 0, 100_000).gid("mlx5_0", 127, ipv4(1), V2, "eth0");

        assertThat(GidChoice.of(port("mlx5_0")).index()).isEqualTo(127);
    }

    @Test
    void functionsOfOnePortAreOneNic() {
        for (int function = 0; function < 3; function++) {
            roce("mlx5_" + function, function)
                    .net("eth" + function, PCI + function, 100_000)
                    .gid("mlx5_" + function, 3, ipv4(function + 1), V2, "eth" + function);
            if (function > 0) {
                sys.files.linked("/sys/devices/" + PCI + function + "/physfn", "/sys/devices/" + PCI + "0");
            }
        }
        Locality around = Localities.ofHost(machine(), 0, -1, -1);

        assertThat(around.nics()).extracting(NicReach::function).containsOnly("mlx5_0");
        NicPaths paths = NicPaths.of(around, nic -> true).orElseThrow();
        assertThat(paths.names()).containsExactly("mlx5_0:1");
        assertThat(paths.gigabytesPerSecond()).isLessThan(12.5);
        NicPaths second =
                NicPaths.of(around, nic -> !nic.name().equals("mlx5_0")).orElseThrow();
        assertThat(second.names()).as("without the first").containsExactly("mlx5_1:1");
    }

    /** All that scalable functions send goes through the port of the function that they are on, be it used itself or not. */
    @Test
    void scalableFunctionsOfOnePortAreOneNicWithTheFunctionThatTheyAreOn() {
        String other = "pci0000:10/0000:10:02.0";
        sys.port(other, 0);
        roce("mlx5_0", 0).net("eth0", PCI + 0, 100_000).gid("mlx5_0", 3, ipv4(1), V2, "eth0");
        sys.pci(other + "/0000:12:00.0", "15b3 1021 020000", 0)
                .driver(other + "/0000:12:00.0", "mlx5_core")
                .verbs("mlx5_1", other + "/0000:12:00.0", "Ethernet", "100 Gb/sec (2X HDR)")
                .net("eth1", other + "/0000:12:00.0", 100_000);
        for (int number = 2; number < 6; number++) {
            String below = number < 4 ? PCI + 0 : other + "/0000:12:00.0";
            sys.scalable("mlx5_" + number, below, number, "sf" + number, "100 Gb/sec (2X HDR)")
                    .gid("mlx5_" + number, 3, ipv4(number), V2, "sf" + number);
        }
        Locality around = Localities.ofHost(machine(), 0, -1, -1);

        assertThat(around.nics())
                .extracting(NicReach::name, NicReach::function)
                .contains(
                        tuple("mlx5_2", "mlx5_0"),
                        tuple("mlx5_3", "mlx5_0"),
                        tuple("mlx5_4", "mlx5_1"),
                        tuple("mlx5_5", "mlx5_1"));
        NicPaths paths = NicPaths.of(around, nic -> true).orElseThrow();
        assertThat(paths.names())
                .as("one for each port, and a function without an address is not used itself")
                .containsExactly("mlx5_0:1", "mlx5_4:1");
        NicPaths alone =
                NicPaths.of(around, nic -> nic.function().equals("mlx5_1")).orElseThrow();
        assertThat(alone.gigabytesPerSecond()).as("of one port").isLessThan(12.5);
    }

    @Test
    void aBondHasTheRateOfAllItsPortsAndItsMembersAreNoNics() {
        roce("mlx5_bond_0", 0)
                .pci(PCI + 1, "15b3 1021 020000", 0)
                .net("eth0", PCI + 0, 100_000)
                .net("eth1", PCI + 1, 100_000)
                .gid("mlx5_bond_0", 3, ipv4(1), V2, "bond0");
        virtual("bond0", "eth0", "eth1");
        sys.files
                .file("/sys/devices/virtual/net/bond0/bonding/slaves", "eth0 eth1\n")
                .file("/sys/devices/virtual/net/bond0/speed", "200000\n");

        assertThat(port("mlx5_bond_0").gigabitsPerSecond()).isEqualTo(200);
        assertThat(port("mlx5_bond_0").activeMtu()).as("of the bond").isEqualTo(1024);
        assertThat(machine().nics()).extracting(Nic::name).containsExactly("mlx5_bond_0");
        assertThat(machine().warnings()).isEmpty();

        sys.files.file("/sys/devices/virtual/net/bond0/speed", "-1\n");
        assertThat(port("mlx5_bond_0").gigabitsPerSecond()).isEqualTo(100);
        assertThat(machine().warnings())
                .singleElement()
                .asString()
                .contains("the rate of one of the ports", "mlx5_bond_0:1 (speed of bond0 is \"-1\")");
    }

    @Test
    void aRateThatCannotBeReadIsWarnedOfWhereABondHasNoneEither() {
        roce("mlx5_bond_0", 0).net("eth0", PCI + 0, 100_000).gid("mlx5_bond_0", 3, ipv4(1), V2, "bond0");
        virtual("bond0", "eth0");
        sys.files
                .file(
                        sys.files
                                        .real("/sys/class/infiniband/mlx5_bond_0/ports/1")
                                        .orElseThrow() + "/rate",
                        "?\n")
                .file("/sys/devices/virtual/net/bond0/bonding/slaves", "eth0\n")
                .file("/sys/devices/virtual/net/bond0/speed", "200000\n");
        assertThat(port("mlx5_bond_0").gigabitsPerSecond()).as("of the bond").isEqualTo(200);
        assertThat(machine().warnings()).isEmpty();

        sys.files.file("/sys/devices/virtual/net/bond0/speed", "-1\n");
        assertThat(port("mlx5_bond_0").gigabitsPerSecond()).isZero();
        assertThat(machine().warnings())
                .singleElement()
                .asString()
                .contains("what the PCIe link allows", "mlx5_bond_0:1 (rate is \"?\")");
    }

    @Test
    void aPortBelowABondOfOtherDevicesKeepsItsRate() {
        for (int function = 0; function < 2; function++) {
            roce("mlx5_" + function, function)
                    .net("eth" + function, PCI + function, 100_000)
                    .gid("mlx5_" + function, 3, ipv4(1), V2, "bond0");
            sys.files.linked(
                    "/sys/class/net/eth" + function + "/device/infiniband/mlx5_" + function,
                    "/sys/class/infiniband/mlx5_" + function);
        }
        virtual("bond0", "eth0", "eth1");
        sys.files
                .file("/sys/devices/virtual/net/bond0/bonding/slaves", "eth0 eth1\n")
                .file("/sys/devices/virtual/net/bond0/speed", "200000\n");

        assertThat(port("mlx5_0").gigabitsPerSecond()).isEqualTo(100);
        assertThat(port("mlx5_1").gigabitsPerSecond()).isEqualTo(100);
    }

    @Test
    void aVlanThatIsSentFromGivesNetworkAndMtu() {
        roce("mlx5_0", 0)
                .net("eth0", PCI + 0, 100_000)
                .gid("mlx5_0", 1, linkLocal(1), V2, "eth0")
                .gid("mlx5_0", 3, ipv4(1), V2, "storage")
                .gid("mlx5_0", 5, ipv4(2), V2, "eth0");
        virtual("storage", "eth0");
        route("storage 01", "eth0 02");

        assertThat(port("mlx5_0").netdev()).isEqualTo("storage");
        assertThat(port("mlx5_0").network()).isEqualTo("10.0.1.0/24");
        assertThat(port("mlx5_0").activeMtu()).isEqualTo(1024);
        assertThat(port("mlx5_0").network(5)).as("of the entry that is named").isEqualTo("10.0.2.0/24");
        assertThat(machine().nics()).extracting(Nic::name).containsExactly("mlx5_0");
    }

    @Test
    void plainEthernetIsTheBondOrTheVlanThatCarriesAddresses() {
        for (int function = 0; function < 3; function++) {
            sys.pci(PCI + function, "8086 1572 020000", 0).net("eth" + function, PCI + function, 25_000);
        }
        virtual("bond0", "eth0", "eth1");
        sys.files
                .file("/sys/devices/virtual/net/bond0/bonding/slaves", "eth0 eth1\n")
                .file("/sys/devices/virtual/net/bond0/speed", "50000\n");
        virtual("eth2.7", "eth2");
        virtual("br0", "eth2");
        route("bond0 01", "eth2.7 02", "br0 03");

        assertThat(machine().nics()).extracting(Nic::name).containsExactlyInAnyOrder("bond0", "eth2.7");
        assertThat(port("bond0").gigabitsPerSecond()).isEqualTo(50);
    }

    @Test
    void routesByPolicyMayJoinAnyNetworks() {
        roce("mlx5_0", 0).net("eth0", PCI + 0, 100_000).gid("mlx5_0", 3, ipv4(1), V2, "eth0");
        route("eth0 00");
        assertThat(port("mlx5_0").network()).isEqualTo("10.0.0.0/24");
        String local = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.1\n        /32 host LOCAL\n";
        sys.files.file(
                "/proc/net/fib_trie",
                local + "Id 101:\n  +-- 0.0.0.0/0 2 0 2\n     |-- 10.0.0.0\n" + "        /24 link UNICAST\n");
        assertThat(port("mlx5_0").network()).isEqualTo("10.0.0.0/24");
        String other = """
                Id 2005:
                  +-- 0.0.0.0/0 2 0 2
                     |-- 0.0.0.0
                        /0 universe UNICAST
                     |-- 10.9.0.0
                        /24 link UNICAST
                """;
        sys.files.file("/proc/net/fib_trie", local + other);
        assertThat(port("mlx5_0").network()).as("a policy for another network").isEqualTo("10.0.0.0/24");
        sys.files.file("/proc/net/fib_trie", local + other.replace("10.9.0.0", "10.0.0.0"));
        assertThat(port("mlx5_0").network()).as("a policy for this one").isEmpty();
        sys.files.file("/proc/net/fib_trie", local + "Id 101:\n  |-- 0.0.0.0\n        /0 universe UNICAST\n");
        assertThat(port("mlx5_0").network()).isEmpty();
    }

    @Test
    void interfacesThatAreMadeOfEachOtherEnd() {
        virtual("a", "b");
        virtual("b", "a");
        assertThat(new NetworkInterfaces(new SysFiles(sys.tree())).madeOf("a")).containsExactlyInAnyOrder("a", "b");
    }
}
