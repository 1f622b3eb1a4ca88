package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which network the rendezvous takes between hosts that have two. */
@Tag("verify")
final class TwoNetworksTest {
    private static final int PORT = 29501;

    private static RankProcess rank(TwoHosts hosts, int rank, String master, Map<String, String> variables) {
        TcpSettings settings = TcpGroup.host(TcpGroup.settings(rank, 2, PORT), master);
        return new RankProcess(settings, hosts.starter(rank), variables);
    }

    private static void meet(RankProcess zero, RankProcess one) {
        assertThat(one.next()).isEqualTo("joined 1");
        assertThat(zero.next()).isEqualTo("joined 0");
        zero.send("gather t a");
        assertThat(one.ask("gather t b")).isEqualTo("gathered [a, b]");
    }

    @ParameterizedTest
    @ValueSource(strings = {"EP_BOOTSTRAP_INTERFACE", "NCCL_SOCKET_IFNAME"})
    void aRankConnectsFromTheChosenInterface(String variable) {
        try (TwoHosts hosts = TwoHosts.connected();
                RankProcess zero = rank(hosts, 0, "10.77.1.1", Map.of());
                RankProcess one = rank(hosts, 1, "10.77.1.1", Map.of(variable, "=b2"))) {
            meet(zero, one);
            assertThat(hosts.connected(0, "10.77.1.1", "10.77.2.2")).isTrue();
            assertThat(hosts.connected(0, "10.77.1.1", "10.77.1.2")).isFalse();
        }
    }

    @Test
    void anInterfaceThatNcclIsToUseDoesNotKeepRanksApart() throws IOException {
        try (TwoHosts hosts = TwoHosts.connected()) {
            // What rank 0 would answer to that interface is lost.
            hosts.on(0, "ip", "route", "add", "blackhole", "10.77.2.2/32");
            try (RankProcess zero = rank(hosts, 0, "10.77.1.1", Map.of("NCCL_SOCKET_IFNAME", "a2"));
                    RankProcess one = rank(hosts, 1, "10.77.1.1", Map.of("NCCL_SOCKET_IFNAME", "b2"))) {
                meet(zero, one);
                assertThat(hosts.connected(0, "10.77.1.1", "10.77.1.2")).isTrue();
            }
        }
    }

    @Test
    void linkLocalAddressesNeedNoScopeWhereTheInterfaceIsChosen() {
        try (TwoHosts hosts = TwoHosts.connected();
                RankProcess zero = rank(hosts, 0, "fe80::a2", Map.of("EP_BOOTSTRAP_INTERFACE", "a2"));
                RankProcess one = rank(hosts, 1, "fe80::a2", Map.of("EP_BOOTSTRAP_INTERFACE", "=b2"))) {
            meet(zero, one);
        }
    }

    @Test
    void rankZeroRefusesAnAddressOfAnotherInterfaceWithTheRemedy() {
        try (TwoHosts hosts = TwoHosts.connected();
                RankProcess zero = rank(hosts, 0, "10.77.1.1", Map.of("EP_BOOTSTRAP_INTERFACE", "a2"))) {
            assertThat(zero.next())
                    .contains("EpConfigException", "10.77.1.1, an address of interface a1", "a2 (", "MASTER_ADDR");
            assertThat(zero.exit(Duration.ofSeconds(60))).isEqualTo(1);
        }
    }
}
