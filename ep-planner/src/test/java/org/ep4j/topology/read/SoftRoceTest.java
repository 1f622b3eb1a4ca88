package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.GidChoice;
import org.ep4j.topology.model.GidChoice.Verdict;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** RoCE in software: as recorded from Linux 6.1 in the guest of {@code ci/rdma-guest}, and live where there is some. */
@Tag("verify")
final class SoftRoceTest {
    private static final String LINK_LOCAL = "fe80:0000:0000:0000:0000:00ff:fe00:0001";
    private static final String IPV4 = "0000:0000:0000:0000:0000:ffff:0a63:0001";
    private static final String IPV6 = "fd00:0000:0000:0000:0000:0000:0000:0001";
    private static final String EMPTY = "0000:0000:0000:0000:0000:0000:0000:0000";

    /** The entry that was made from the MAC address is first, also where IPv6 is switched off. */
    @Test
    void theAddressIsTheSecondEntry() {
        Nic nic = read("4: ACTIVE", "5: LinkUp", LINK_LOCAL, IPV4);

        assertThat(nic.family()).isEqualTo(NicFamily.RXE);
        assertThat(nic.driver()).isEqualTo("rdma_rxe");
        assertThat(nic.card()).isEqualTo("0000:00ff:fe00:0001");
        assertThat(nic.gpuDirect()).contains(false);
        assertThat(port(nic))
                .isEqualTo(new NicPort(
                        1,
                        NicPort.State.ACTIVE,
                        NicReach.LinkLayer.ETHERNET,
                        10,
                        4096,
                        0,
                        "rail0a",
                        List.of(gid(0, LINK_LOCAL), gid(1, IPV4)),
                        true,
                        ""));
        assertThat(GidChoice.of(port(nic)))
                .hasToString("GID index 1 (10.99.0.1, RoCE v2, rail0a)")
                .extracting(GidChoice::verdict)
                .isEqualTo(Verdict.FINE);
    }

    @Test
    void aPortThatIsDownKeepsItsEntries() {
        NicPort port = port(read("1: DOWN", "3: Disabled", LINK_LOCAL, IPV4));

        assertThat(port.state()).isEqualTo(NicPort.State.DOWN);
        assertThat(port.netdev()).isEqualTo("rail0a");
        assertThat(GidChoice.of(port).index()).isEqualTo(1);
    }

    @Test
    void withoutItsAddressAPortHasNothingToSendFrom() {
        assertThat(GidChoice.of(port(read("4: ACTIVE", "5: LinkUp", LINK_LOCAL, EMPTY))))
                .extracting(GidChoice::index, GidChoice::verdict)
                .containsExactly(0, Verdict.LINK_LOCAL);
    }

    @Test
    void anIpv6AddressBesideDoesNotChangeTheChoice() {
        assertThat(GidChoice.of(port(read("4: ACTIVE", "5: LinkUp", LINK_LOCAL, IPV4, IPV6)))
                        .index())
                .isEqualTo(1);
    }

    @Test
    void addressesBehindFreeEntriesAreFound() {
        String[] table = new String[60];
        Arrays.fill(table, EMPTY);
        table[0] = LINK_LOCAL;
        table[59] = IPV4;
        assertThat(GidChoice.of(port(read("4: ACTIVE", "5: LinkUp", table))).index())
                .isEqualTo(59);
    }

    /** Where there is RoCE in software, as in the guest, every NIC is found, and can be sent from. */
    @Test
    void theNicsOfThisMachineAreRead() {
        List<String> names = FileTree.of(Path.of("/")).list("/sys/class/infiniband");
        boolean required = "1".equals(System.getenv("EP_REQUIRE_VERBS"));
        if (names.isEmpty() && !required) {
            System.out.println(
                    "Skipped: no NIC with RDMA in /sys/class/infiniband; ci/on-verbs runs this where there are");
        }
        assumeTrue(!names.isEmpty() || required, "no NIC with RDMA in /sys/class/infiniband");

        List<Nic> nics = Topologies.live().nics();
        assertThat(names).isNotEmpty();
        assertThat(nics).extracting(Nic::name).containsAll(names);
        assertThat(nics).filteredOn(nic -> nic.family() == NicFamily.RXE).allSatisfy(nic -> {
            assertThat(nic.ports()).hasSize(1);
            assertThat(port(nic).linkLayer()).isEqualTo(NicReach.LinkLayer.ETHERNET);
            assertThat(port(nic).netdev()).isNotEmpty();
            assertThat(port(nic).gids()).isNotEmpty();
        });
        if ("1".equals(System.getenv("RDMA_GUEST"))) {
            assertThat(nics).hasSameSizeAs(names).allSatisfy(nic -> {
                assertThat(nic.family()).isEqualTo(NicFamily.RXE);
                assertThat(port(nic).state()).isEqualTo(NicPort.State.ACTIVE);
                assertThat(port(nic).activeMtu()).isEqualTo(4096);
                assertThat(port(nic).network()).matches("10\\.99\\.\\d+\\.0/24");
                assertThat(GidChoice.of(port(nic)))
                        .extracting(GidChoice::index, GidChoice::verdict)
                        .containsExactly(1, Verdict.FINE);
            });
        }
    }

    /** What the guest shows of its first port, with this beginning of its GID table. */
    private static Nic read(String state, String physical, String... gids) {
        SysTree tree = new SysTree().software("rxe0", "1: CA");
        String folder = tree.files.real("/sys/class/infiniband/rxe0").orElseThrow();
        tree.files
                .file(folder + "/uevent", "NAME=rxe0\n")
                .file(folder + "/parent", "rail0a\n")
                .file(folder + "/node_guid", "0000:00ff:fe00:0001\n")
                .file(folder + "/sys_image_guid", "0000:00ff:fe00:0001\n")
                .file(folder + "/fw_ver", "\n")
                .file(folder + "/ports/1/state", state + "\n")
                .file(folder + "/ports/1/phys_state", physical + "\n")
                .file(folder + "/ports/1/rate", "10 Gb/sec (1X FDR10)\n");
        for (int index = 0; index < 1024; index++) {
            if (index < gids.length && !gids[index].equals(EMPTY)) {
                tree.gid("rxe0", index, gids[index], "RoCE v2", "rail0a");
            } else {
                // Type and interface of an empty entry cannot be read: EINVAL.
                tree.files.file(folder + "/ports/1/gids/" + index, EMPTY + "\n");
            }
        }
        String netdev = "/sys/devices/virtual/net/rail0a";
        tree.files
                .linked("/sys/class/net/rail0a", netdev)
                .file(netdev + "/type", "1\n")
                .file(netdev + "/operstate", state.startsWith("4:") ? "up\n" : "down\n")
                .file(netdev + "/mtu", "4200\n")
                .file(netdev + "/speed", "10000\n")
                .file(netdev + "/dev_port", "0\n");
        Topology machine = LinuxTopology.read("test", tree.tree(), Map.of());
        assertThat(machine.warnings()).isEmpty();
        assertThat(machine.nics()).hasSize(1);
        return machine.nics().get(0);
    }

    private static NicPort port(Nic nic) {
        return nic.ports().get(0);
    }

    private static Gid gid(int index, String address) {
        return new Gid(index, address, "RoCE v2", "rail0a");
    }
}
