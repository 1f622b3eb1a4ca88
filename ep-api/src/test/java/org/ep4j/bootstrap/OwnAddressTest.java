package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.List;
import java.util.Optional;
import org.ep4j.EpConfigException;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The interface at whose address the others reach a rank. */
@Timeout(60)
final class OwnAddressTest {
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    private static String loopback() throws Exception {
        return NetworkInterface.getByInetAddress(LOOPBACK).getName();
    }

    private static TcpSettings settings(String host, String interfaces) {
        TcpSettings s = TcpGroup.settings(0, 2, 0);
        return new TcpSettings(0, 2, host, 0, s.secret(), s.setupTimeout(), s.heartbeat(), s.silence(), interfaces);
    }

    /** Where rank 0 of a group says that the others reach it. */
    private static Optional<InetAddress> told(TcpSettings settings) {
        RendezvousServer server = RendezvousServer.start(settings);
        Failover failover = Failover.ofHub(new Membership(0, 2), server);
        try {
            return failover.address().address();
        } finally {
            failover.abandon();
            server.abandon();
        }
    }

    @Test
    void ranksTellTheAddressOfTheWantedInterface() throws Exception {
        assertThat(told(settings("a-name", ""))).isEmpty();
        assertThat(told(settings("a-name", "=" + loopback()))).contains(LOOPBACK);
    }

    @Test
    void aRendezvousOnTheLoopbackStaysThereWhateverIsWanted() {
        assertThat(told(settings("127.0.0.1", "eth99"))).isEmpty();
    }

    @Test
    void anInterfaceThatIsNotThereIsRefusedWithThoseThatAre() throws Exception {
        assertThatThrownBy(() -> told(settings("a-name", "nosuch")))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll(
                        "ep.bootstrap.interface is \"nosuch\"",
                        "there are ",
                        loopback(),
                        "UCCL_SOCKET_IFNAME, NCCL_SOCKET_IFNAME");
    }

    /** All ranks but the first go on when it dies: they reach each other at the addresses that they told. */
    @Test
    void membersFindEachOtherThereWhenRankZeroDies() throws Exception {
        TcpSettings s = TcpGroup.settings(0, 3, 0);
        TcpSettings zero = new TcpSettings(
                0, 3, "a-name", 0, s.secret(), s.setupTimeout(), s.heartbeat(), s.silence(), "=" + loopback());
        RendezvousServer server = RendezvousServer.start(zero);
        List<Bootstrap> group;
        try (Ranks ranks = new Ranks()) {
            group = ranks.all(3, rank -> {
                Deadline deadline = Deadline.in(zero.setupTimeout());
                if (rank == 0) {
                    return TcpBootstrap.join(zero, server, deadline);
                }
                TcpSettings mine = new TcpSettings(
                        rank,
                        3,
                        "a-name",
                        server.port(),
                        s.secret(),
                        s.setupTimeout(),
                        s.heartbeat(),
                        s.silence(),
                        zero.interfaces());
                return TcpBootstrap.join(mine, List.of(LOOPBACK), deadline);
            });
        }
        ((TcpBootstrap) group.get(0)).cut();
        for (int rank = 1; rank < 3; rank++) {
            Bootstrap member = group.get(rank);
            Ranks.until(rank + " knows", () -> member.state(0) == MemberState.LOST);
        }
        try (Ranks ranks = new Ranks()) {
            assertThat(ranks.all(
                            2,
                            index -> group.get(index + 1)
                                    .subgroup("rest", List.of(1, 2))
                                    .allGather("t", new byte[1], Ranks.LONG)
                                    .size()))
                    .containsExactly(2, 2);
        }
        group.forEach(Bootstrap::close);
    }
}
