package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.LogCapture;
import org.ep4j.engine.bootstrap.LocalInterface.Address;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Which addresses the rendezvous uses on machines that are made up here, and on this one. */
@Tag("verify")
final class ChosenInterfacesTest {
    private static final List<LocalInterface> MACHINE = List.of(
            network("lo", "127.0.0.1/8", "::1/128"),
            network("eth0", "10.0.1.5/24", "fd00:1::5/64"),
            network("eth1", "10.0.2.5/24", "10.0.3.5/24"),
            network("ib0", "fe80::5/64"));

    private static LocalInterface network(String name, String... addresses) {
        return new LocalInterface(
                name,
                Arrays.stream(addresses)
                        .map(text -> text.split("/", -1))
                        .map(parts -> new Address(address(parts[0]), Integer.parseInt(parts[1])))
                        .toList());
    }

    /** A literal; link-local ones of this machine have the scope 4. */
    private static InetAddress address(String text) {
        try {
            InetAddress address = InetAddress.getByName(text);
            return text.equals("fe80::5") ? Inet6Address.getByAddress(null, address.getAddress(), 4) : address;
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(text, e);
        }
    }

    private static ChosenInterfaces chosen(String variable, String value) {
        return ChosenInterfaces.of(
                EpConfig.builder(Map.of(), Map.of(variable, value)).build(), () -> MACHINE);
    }

    private static ChosenInterfaces required(String value) {
        return chosen("EP_BOOTSTRAP_INTERFACE", value);
    }

    private static List<InetAddress> reachable(ChosenInterfaces interfaces, boolean exact, String... known) {
        return interfaces.reachable(
                Arrays.stream(known).map(ChosenInterfacesTest::address).toList(), exact);
    }

    @Test
    void aConnectionBeginsAtTheAddressOfTheNetworkOfRankZeroElseAtTheFirstOfItsFamily() {
        ChosenInterfaces eth = required("eth");
        assertThat(eth.localEnds(address("10.0.3.9"))).containsExactly(Optional.of(address("10.0.3.5")));
        assertThat(eth.localEnds(address("10.9.9.9"))).containsExactly(Optional.of(address("10.0.1.5")));
        assertThat(eth.localEnds(address("fd00:2::9"))).containsExactly(Optional.of(address("fd00:1::5")));
        assertThat(required("=eth1").localEnds(address("10.0.1.9"))).containsExactly(Optional.of(address("10.0.2.5")));
    }

    @Test
    void whatIsOnThisMachineIsReachedWithoutAnInterface() {
        for (String own : List.of("127.0.0.1", "10.0.1.5", "::1")) {
            assertThat(required("eth1").localEnds(address(own))).containsExactly(Optional.empty());
        }
    }

    @Test
    void linkLocalAddressesGetTheScopeOfTheInterface() {
        ChosenInterfaces ib = required("ib0");
        List<InetAddress> targets = reachable(ib, true, "fe80::9");
        assertThat(targets)
                .singleElement()
                .isInstanceOfSatisfying(
                        Inet6Address.class,
                        target -> assertThat(target.getScopeId()).isEqualTo(4));
        assertThat(ib.localEnds(targets.get(0))).containsExactly(Optional.of(address("fe80::5")));
        assertThat(reachable(ib, true, "fe80::5"))
                .singleElement()
                .isInstanceOfSatisfying(
                        Inet6Address.class, own -> assertThat(own.getScopeId()).isEqualTo(4));
    }

    @Test
    void rankZeroListensAtAnAddressThatOthersReach() {
        assertThat(required("eth").first()).isEqualTo(address("10.0.1.5"));
        assertThat(required("ib,eth0").first()).isEqualTo(address("10.0.1.5"));
        assertThat(required("=ib0").first()).isEqualTo(address("fe80::5"));
        assertThat(required("^eth1").first()).isEqualTo(address("10.0.1.5"));
    }

    @Test
    void aNameThatMeansLoopbackOnItsOwnMachineMeansTheInterface() {
        assertThat(reachable(required("eth1"), false, "127.0.1.1")).containsExactly(address("10.0.2.5"));
        assertThat(reachable(required("eth1"), false, "10.0.1.5", "10.0.2.5")).containsExactly(address("10.0.2.5"));
    }

    @Test
    void anAddressThatTheInterfacesDoNotReachIsRefusedWithTheRemedy() {
        assertThatThrownBy(() -> reachable(required("eth1"), true, "127.0.0.1"))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll(
                        "127.0.0.1, a loopback address",
                        "EP_BOOTSTRAP_INTERFACE = \"eth1\" means eth1 (10.0.2.5, 10.0.3.5)",
                        "MASTER_ADDR");
        assertThatThrownBy(() -> reachable(required("eth1"), true, "10.0.1.5"))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll("10.0.1.5, an address of interface eth0", "EP_BOOTSTRAP_ADDRESS");
        assertThatThrownBy(() -> reachable(required("eth1"), true, "fd00:1::9"))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll("no IPv6 address there", "eth1 (10.0.2.5, 10.0.3.5)");
        assertThatThrownBy(() -> reachable(required("ib0"), true, "10.0.1.9"))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("no IPv4 address there");
        assertThatThrownBy(() -> reachable(required("lo"), true, "10.0.1.9"))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("lo (127.0.0.1, 0:0:0:0:0:0:0:1)");
    }

    @Test
    void aNameThatNoInterfaceHasIsRefusedWithThoseThatThereAre() {
        assertThatThrownBy(() -> required("=eth"))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll(
                        "EP_BOOTSTRAP_INTERFACE = \"=eth\"", "eth0 (10.0.1.5", "eth1 (", "ib0 (fe80", "a leading =");
    }

    @Test
    void aVariableOfOtherSoftwareThatMeansNoInterfaceIsOnlyWarnedOf() {
        try (LogCapture log = new LogCapture(ChosenInterfaces.class)) {
            assertThat(chosen("NCCL_SOCKET_IFNAME", "bond")).isEqualTo(ChosenInterfaces.NONE);
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .contains("NCCL_SOCKET_IFNAME = \"bond\"", "eth0", "EP_BOOTSTRAP_INTERFACE");
        }
    }

    /** With every choice that a variable of other software makes, each address stays, and is tried as without the choice, too. */
    @Test
    void aVariableOfOtherSoftwareRulesNothingOut() {
        Random random = new Random(7);
        List<String> targets = List.of("127.0.0.1", "::1", "10.0.1.5", "10.0.1.9", "fd00:1::9", "fe80::9", "8.8.8.8");
        for (int round = 0; round < 300; round++) {
            String mark = List.of("", "=", "^", "^=").get(random.nextInt(4));
            List<String> names = new ArrayList<>(List.of("eth0", "eth1", "ib0", "lo"));
            String value = mark + String.join(",", names.subList(0, 1 + random.nextInt(names.size())));
            String variable = random.nextBoolean() ? "NCCL_SOCKET_IFNAME" : "UCCL_SOCKET_IFNAME";
            try (LogCapture log = new LogCapture(ChosenInterfaces.class)) {
                ChosenInterfaces interfaces = chosen(variable, value);
                for (String target : targets) {
                    assertThat(reachable(interfaces, random.nextBoolean(), target))
                            .as(value)
                            .containsExactly(address(target));
                    assertThat(interfaces.localEnds(address(target))).as(value).endsWith(Optional.empty());
                }
                assertThat(log.lines().isEmpty()).isEqualTo(!interfaces.equals(ChosenInterfaces.NONE));
            }
        }
    }

    @Test
    void theOwnSettingCountsBeforeTheVariablesAndEmptyMeansNone() {
        EpConfig config = EpConfig.builder(
                        Map.of(), Map.of("EP_BOOTSTRAP_INTERFACE", "", "NCCL_SOCKET_IFNAME", "nothing"))
                .build();
        assertThat(ChosenInterfaces.of(config, () -> MACHINE)).isEqualTo(ChosenInterfaces.NONE);
        assertThat(required("eth0").required()).isTrue();
        assertThat(chosen("NCCL_SOCKET_IFNAME", "eth0").required()).isFalse();
    }

    private static EpConfig config(String variable, String value) {
        return EpConfig.builder(Map.of(), Map.of(variable, value, "EP_BOOTSTRAP_SECRET", "x"))
                .build();
    }

    @Test
    void ranksOfOneMachineConnectOverLoopbackWhateverNcclIsToUse() throws Exception {
        String other = LocalInterface.ofThisMachine().stream()
                .filter(one -> !one.isLoopback())
                .map(LocalInterface::name)
                .findFirst()
                .orElse("eth7");
        try (LogCapture log = new LogCapture(ChosenInterfaces.class)) {
            meet("127.0.0.1", config("NCCL_SOCKET_IFNAME", other));
            meet("localhost", config("UCCL_SOCKET_IFNAME", "=nonexistent"));
            assertThat(log.lines())
                    .as("one for each rank")
                    .filteredOn(line -> line.contains("nonexistent"))
                    .hasSize(2);
        }
        meet("127.0.0.1", config("EP_BOOTSTRAP_INTERFACE", "lo"));
        meet(InetAddress.getLocalHost().getHostName(), config("EP_BOOTSTRAP_INTERFACE", "^nonexistent,lo"));
    }

    private static Bootstrap tcp(int rank, String host, int port, EpConfig config) {
        return Bootstrap.tcp(rank, 2, InetSocketAddress.createUnresolved(host, port), config);
    }

    private static void meet(String host, EpConfig config) throws Exception {
        int port = TcpGroup.freePort();
        try (Ranks ranks = new Ranks()) {
            List<Bootstrap> group = ranks.all(2, rank -> tcp(rank, host, port, config));
            assertThat(ranks.all(2, rank -> BootstrapContract.gather(group.get(rank), "t", "" + rank))
                            .get(1))
                    .containsExactly("0", "1");
            ranks.all(2, rank -> {
                group.get(rank).close();
                return rank;
            });
        }
    }

    @Test
    void everyRankRefusesAnAddressThatItsInterfacesRuleOut() {
        // 192.0.2.0/24 is set aside for documentation.
        assertThatThrownBy(() -> tcp(1, "192.0.2.77", 29500, config("EP_BOOTSTRAP_INTERFACE", "lo")))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("EP_BOOTSTRAP_INTERFACE = \"lo\" means lo (127.0.0.1");
        assertThatThrownBy(() -> tcp(0, "192.0.2.77", 29500, config("EP_BOOTSTRAP_INTERFACE", "lo")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("this machine does not have the address");
        assertThatThrownBy(() -> tcp(0, "127.0.0.1", 29500, config("EP_BOOTSTRAP_INTERFACE", "=none")))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll("=none", "lo (127.0.0.1");
    }
}
