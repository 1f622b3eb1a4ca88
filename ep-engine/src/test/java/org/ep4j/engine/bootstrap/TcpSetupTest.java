package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.Engine;
import org.ep4j.engine.LogCapture;
import org.ep4j.testing.Guard;
import org.ep4j.transport.NanoClock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How a group over TCP comes about, or does not. */
@Tag("verify")
class TcpSetupTest {
    private final Ranks ranks = new Ranks();

    @AfterEach
    void end() {
        ranks.close();
    }

    private static EpTimeoutException late(TcpSettings settings, RendezvousServer server) {
        return catchThrowableOfType(EpTimeoutException.class, () -> TcpGroup.join(settings, server));
    }

    /** Settings under which a few attempts fit in the time, on every machine. */
    private static TcpSettings impatient(TcpSettings settings) {
        TcpSettings timed = TcpGroup.timeout(settings, Duration.ofSeconds(6));
        return TcpGroup.clock(timed, TestClock.advancedByEachLook(Duration.ofMillis(400)));
    }

    private void closeAll(List<Bootstrap> group) {
        ranks.all(group.size(), r -> {
            group.get(r).close();
            return r;
        });
    }

    @Test
    void membersMayComeLongBeforeRankZero() throws IOException {
        int port = TcpGroup.freePort();
        CompletableFuture<Bootstrap> one = ranks.start(() -> TcpBootstrap.join(TcpGroup.settings(1, 2, port)));
        BootstrapContract.pause(700);
        CompletableFuture<Bootstrap> zero = ranks.start(() -> TcpBootstrap.join(TcpGroup.settings(0, 2, port)));
        // If another process took the port meanwhile and refused rank 1, rank 0 waits for it in vain: the refusal is
        // shown.
        Bootstrap early = Ranks.get(one);
        closeAll(List.of(Ranks.get(zero), early));
    }

    @Test
    void theProgrammaticWayFormsAGroup() throws IOException {
        int port = TcpGroup.freePort();
        EpConfig config = EpConfig.builder(Map.of(), Map.of())
                .set("ep.bootstrap.secret", "x")
                .build();
        InetSocketAddress rankZero = InetSocketAddress.createUnresolved("localhost", port);
        List<Bootstrap> group = ranks.all(3, r -> Bootstrap.tcp(r, 3, rankZero, config));
        assertThat(ranks.all(3, r -> BootstrapContract.gather(group.get(r), "t", "" + r))
                        .get(1))
                .containsExactly("0", "1", "2");
        closeAll(group);
    }

    @Test
    void aResolvedAddressIsTakenToo() throws IOException {
        EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();
        for (InetAddress address :
                List.of(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), InetAddress.getByName("localhost"))) {
            InetSocketAddress rankZero = new InetSocketAddress(address, TcpGroup.freePort());
            List<Bootstrap> group = ranks.all(2, r -> Bootstrap.tcp(r, 2, rankZero, config));
            assertThat(group).extracting(Bootstrap::rank).containsExactly(0, 1);
            closeAll(group);
        }
    }

    @Test
    void torchrunsVariablesFormAGroup() throws IOException {
        int port = TcpGroup.freePort();
        List<Bootstrap> group = ranks.all(
                2,
                r -> new Engine()
                        .fromEnvironment(
                                Map.of(
                                        "RANK",
                                        "" + r,
                                        "WORLD_SIZE",
                                        "2",
                                        "MASTER_ADDR",
                                        "127.0.0.1",
                                        "MASTER_PORT",
                                        "" + (port - 1),
                                        "TORCHELASTIC_USE_AGENT_STORE",
                                        "True"),
                                EpConfig.builder(Map.of(), Map.of()).build()));
        assertThat(group).extracting(Bootstrap::rank).containsExactly(0, 1);
        closeAll(group);
    }

    @Test
    void whenTheTimeIsOverAllWhoCameNameTheMissing() {
        TestClock clock = new TestClock();
        TcpSettings zero = TcpGroup.clock(TcpGroup.settings(0, 5, 0), clock);
        RendezvousServer server = RendezvousServer.start(zero);
        List<CompletableFuture<EpTimeoutException>> waiting = new ArrayList<>();
        for (int rank : List.of(0, 2, 4)) {
            // Time passes at rank 0 alone: the others would wait longer, but rank 0 reports to them that it gave up.
            TcpSettings own = TcpGroup.rank(rank == 0 ? zero : TcpGroup.settings(0, 5, 0), rank, server.port());
            waiting.add(ranks.start(() -> late(own, own.rank() == 0 ? server : null)));
        }
        Guard.until("three wait", () -> server.missing().equals(List.of(1, 3)));
        clock.advance(Ranks.LONG);
        List<EpTimeoutException> errors = waiting.stream().map(Ranks::get).toList();
        assertThat(errors)
                .allSatisfy(error -> assertThat(error)
                        .hasMessageContaining("setup of the group")
                        .hasMessageContaining("rank 1, rank 3 did not take part")
                        .hasMessageContaining("of 5")
                        .extracting(EpTimeoutException::recourse)
                        .isEqualTo(EpException.Recourse.REJOIN));
        assertThat(errors.get(1)).hasMessageContaining("rank 0 gave up");
    }

    @Test
    void aMemberWhoseTimeIsOverFirstNamesTheMissingToo() {
        TcpSettings zero = TcpGroup.settings(0, 3, 0);
        RendezvousServer server = RendezvousServer.start(zero);
        CompletableFuture<Bootstrap> own = ranks.start(() -> TcpGroup.join(zero, server));
        TestClock clock = new TestClock();
        CompletableFuture<EpTimeoutException> first =
                ranks.start(() -> late(TcpGroup.clock(TcpGroup.rank(zero, 1, server.port()), clock), null));
        Guard.until("two wait", () -> server.missing().equals(List.of(2)));
        clock.advance(Ranks.LONG);
        EpTimeoutException error = Ranks.get(first);
        assertThat(error).hasMessageContaining("rank 2 did not take part");
        assertThat(error.failure().peer()).isEqualTo(2);
        assertThat(error.recourse()).isEqualTo(EpException.Recourse.REJOIN);
        // Its place is free again, and the group forms after all.
        CompletableFuture<Bootstrap> two =
                ranks.start(() -> TcpGroup.join(TcpGroup.rank(zero, 2, server.port()), null));
        Guard.until("rank 1 is free again", () -> !server.taken(1));
        Bootstrap one = TcpGroup.join(TcpGroup.rank(zero, 1, server.port()), null);
        closeAll(List.of(Ranks.get(own), one, Ranks.get(two)));
    }

    @Test
    void nobodyListeningIsReportedWithAddressAttemptsAndCause() throws IOException {
        int port = TcpGroup.freePort();
        EpTimeoutException error = late(impatient(TcpGroup.settings(1, 2, port)), null);
        assertThat(error)
                .hasMessageContaining("rank 1 could not connect to rank 0 at 127.0.0.1:" + port)
                .hasMessageContaining("refused")
                .hasMessageContaining("attempts")
                .hasMessageContaining("MASTER_ADDR");
        assertThat(error.failure().peer()).isZero();
        assertThat(error.recourse()).isEqualTo(EpException.Recourse.REJOIN);
    }

    @Test
    void aNameWithoutAnAddressIsReported() {
        TcpSettings settings = TcpGroup.host(impatient(TcpGroup.settings(1, 2, 29500)), "no-such-host.invalid");
        assertThat(late(settings, null)).hasMessageContaining("the name no-such-host.invalid has no address");
    }

    @Test
    void somethingElseOnThePortIsReported() throws IOException {
        CompletableFuture<Void> serving;
        try (ServerSocket other = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            serving = ranks.run(() -> greet(other));
            EpTimeoutException error = late(impatient(TcpGroup.settings(1, 2, other.getLocalPort())), null);
            assertThat(error).hasMessageContaining("does not speak the rendezvous protocol");
        }
        Ranks.get(serving);
    }

    private static void greet(ServerSocket other) {
        while (!other.isClosed()) {
            try (Socket socket = other.accept()) {
                socket.getOutputStream()
                        .write("SSH-2.0-OpenSSH_9.2 and so on\r\n"
                                .getBytes(java.nio.charset.StandardCharsets.US_ASCII));
                socket.getInputStream().readNBytes(10);
            } catch (IOException e) {
                // The test has closed it, or the client has.
                BootstrapContract.pause(1);
            }
        }
    }

    @Test
    void aPortThatIsTakenIsNamedWithTheFix() throws IOException {
        try (ServerSocket other = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            assertThatThrownBy(() -> TcpBootstrap.join(TcpGroup.settings(0, 2, other.getLocalPort())))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("127.0.0.1 port " + other.getLocalPort())
                    .hasMessageContaining("another process holds the port")
                    .hasMessageContaining("EP_BOOTSTRAP_PORT");
        }
    }

    @Test
    void aHostThatIsNotThisMachineIsNamedToo() {
        // 192.0.2.0/24 is set aside for documentation; no machine has it.
        assertThatThrownBy(() -> TcpBootstrap.join(TcpGroup.host(TcpGroup.settings(0, 2, 0), "192.0.2.1")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("192.0.2.1")
                .hasMessageContaining("this machine does not have the address");
    }

    /** Agents of torchrun that meet by themselves may start rank 0 on any host; their store stays where it is. */
    @Test
    void rankZeroRefusesAtOnceWhenTorchrunsStoreIsOnAnotherMachine() throws IOException {
        int store = TcpGroup.freePort();
        TcpSettings elsewhere = TcpSettings.fromEnvironment(torchrun("192.0.2.1", store), PLAIN);
        assertThatThrownBy(() -> TcpBootstrap.join(elsewhere))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("MASTER_ADDR = 192.0.2.1")
                .hasMessageContaining("port " + store)
                .hasMessageContaining("--rdzv-backend=static")
                .hasMessageContaining("EP_BOOTSTRAP_ADDRESS");
        listen(TcpSettings.fromEnvironment(torchrun("localhost", store), PLAIN), InetAddress::getAllByName)
                .close();
    }

    /** A name means what it resolves to: one address of this machine among several is enough. A name without an address is not refused. */
    @Test
    void aNameOfAnotherMachineIsRefusedAsItsAddressIs() throws IOException {
        int store = TcpGroup.freePort();
        TcpSettings named = TcpSettings.fromEnvironment(torchrun("node-a", store), PLAIN);
        assertThatThrownBy(() -> listen(named, meaning("192.0.2.1", "203.0.113.1")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("MASTER_ADDR = node-a")
                .hasMessageContaining("port " + store)
                .hasMessageContaining("--rdzv-backend=static")
                .hasMessageContaining("EP_BOOTSTRAP_ADDRESS");
        listen(named, meaning("192.0.2.1", "127.0.0.1")).close();
        listen(named, name -> {
                    throw new UnknownHostException(name);
                })
                .close();
        // The rendezvous takes the port after it, which a port that Linux chose might share with another socket.
        try (ServerSocket agent = new ServerSocket(TcpGroup.freePort(), 10, InetAddress.getLoopbackAddress())) {
            TcpSettings withStore = TcpSettings.fromEnvironment(torchrun("node-a", agent.getLocalPort()), PLAIN);
            listen(withStore, meaning("192.0.2.1")).close();
        }
    }

    private static ServerSocketChannel listen(TcpSettings settings, Listener.HostNames names) {
        return new Listener(settings, names).open();
    }

    private static Listener.HostNames meaning(String... addresses) {
        return name -> {
            InetAddress[] all = new InetAddress[addresses.length];
            for (int i = 0; i < all.length; i++) {
                all[i] = InetAddress.getByAddress(
                        name, InetAddress.getByName(addresses[i]).getAddress());
            }
            return all;
        };
    }

    /** Behind an address that is forwarded, the machine of the store has the store, whatever its own addresses are. */
    @Test
    void whereTorchrunsStoreIsRankZeroListens() throws IOException {
        try (ServerSocket store = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            TcpSettings here = TcpSettings.fromEnvironment(torchrun("192.0.2.1", store.getLocalPort()), PLAIN);
            assertThatThrownBy(() -> listen(here, InetAddress::getAllByName))
                    .as("an address cannot be listened on, which says something else")
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("rank 0 cannot listen on 192.0.2.1");
        }
    }

    private static final EpConfig PLAIN = EpConfig.builder(Map.of(), Map.of()).build();

    private static Map<String, String> torchrun(String host, int port) {
        return Map.of(
                "RANK", "0",
                "WORLD_SIZE", "2",
                "MASTER_ADDR", host,
                "MASTER_PORT", Integer.toString(port),
                "TORCHELASTIC_USE_AGENT_STORE", "True");
    }

    @Test
    void ipv6Works() throws IOException {
        assumeTrue(hasIpv6(), "this machine has no ::1");
        List<Bootstrap> group = TcpGroup.form(TcpGroup.host(TcpGroup.settings(0, 2, 0), "::1"));
        assertThat(ranks.all(2, r -> BootstrapContract.gather(group.get(r), "t", "x")))
                .hasSize(2);
        closeAll(group);
    }

    private static boolean hasIpv6() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getAllByName("::1")[0])) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void aHostNameMakesRankZeroListenOnAllAddressesAndWarnsWithoutASecret() throws IOException {
        String name = InetAddress.getLocalHost().getHostName();
        TcpSettings named = TcpGroup.secret(TcpGroup.host(TcpGroup.settings(0, 1, 0), name), "");
        try (LogCapture log = new LogCapture(RendezvousServer.class)) {
            RendezvousServer server = RendezvousServer.start(named);
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .contains("has no secret")
                    .contains("EP_BOOTSTRAP_SECRET");
            Bootstrap only = TcpGroup.join(named, server);
            only.close();
            RendezvousServer loopback = RendezvousServer.start(TcpGroup.secret(TcpGroup.settings(0, 1, 0), ""));
            loopback.abandon();
            // Of the second one, only if other people use this machine.
            assertThat(log.lines()).hasSize(LocalUsers.othersHaveProcesses() ? 2 : 1);
        }
    }

    @Test
    void aConnectionThatEndsBeforeItsFirstByteIsNotLogged() throws IOException {
        TcpSettings zero = TcpGroup.settings(0, 1, 0);
        try (LogCapture log = new LogCapture(RendezvousServer.class)) {
            RendezvousServer server = RendezvousServer.start(zero);
            TcpGroup.connect(server.port()).close();
            try (Socket scanner = TcpGroup.connect(server.port())) {
                scanner.getOutputStream().write(1);
            }
            // Connections are served in their order.
            Guard.until("the one that sent a byte is logged", () -> !log.lines().isEmpty());
            assertThat(log.lines()).singleElement().asString().contains("ended during its handshake");
            assertThat(server.handshakes()).isZero();
            TcpGroup.join(zero, server).close();
        }
    }

    @Test
    void aPortIsFreeAgainAtOnceAfterTheGroupEnded() throws IOException {
        int port = TcpGroup.freePort();
        for (int i = 0; i < 20; i++) {
            List<Bootstrap> group = ranks.all(2, r -> TcpBootstrap.join(TcpGroup.settings(r, 2, port)));
            closeAll(group);
        }
    }

    @Test
    void aLargeGroupForms() {
        int size = 128;
        // With a manual clock, each waiting thread wakes up every millisecond to look at the time; with hundreds of
        // threads
        // that takes both cores.
        List<Bootstrap> group = TcpGroup.form(TcpGroup.clock(TcpGroup.settings(0, size, 0), NanoClock.SYSTEM));
        List<List<String>> seen = ranks.all(size, r -> BootstrapContract.gather(group.get(r), "t", "" + r));
        assertThat(seen)
                .allSatisfy(texts -> assertThat(texts).hasSize(size).last().isEqualTo("127"));
        closeAll(group);
    }

    @Test
    void aLargeGroupFormsAmongManySilentStrangers() throws IOException {
        TcpSettings zero = TcpGroup.clock(TcpGroup.settings(0, 32, 0), NanoClock.SYSTEM);
        RendezvousServer server = RendezvousServer.start(zero);
        List<Socket> strangers = new ArrayList<>();
        try (LogCapture log = new LogCapture(RendezvousServer.class)) {
            CompletableFuture<Void> flood = ranks.run(() -> flood(server.port(), strangers));
            Guard.until("some are there", () -> server.handshakes() > 40);
            List<Bootstrap> group =
                    ranks.all(32, r -> TcpGroup.join(TcpGroup.rank(zero, r, server.port()), r == 0 ? server : null));
            Ranks.get(flood);
            assertThat(ranks.all(32, r -> BootstrapContract.gather(group.get(r), "t", "x")))
                    .hasSize(32);
            assertThat(log.lines()).hasSizeLessThanOrEqualTo(2 * RefusalLog.MOST);
            closeAll(group);
        } finally {
            for (Socket stranger : strangers) {
                stranger.close();
            }
        }
    }

    private static void flood(int port, List<Socket> strangers) {
        try {
            for (int i = 0; i < 300; i++) {
                strangers.add(TcpGroup.connect(port));
            }
        } catch (IOException e) {
            // The group stands, which has closed the port.
            assertThat(strangers).isNotEmpty();
        }
    }

    @Test
    void allThreadsAreDaemonsWithNamesAndEndWithTheGroup() {
        List<Thread> before = threads();
        List<Bootstrap> group = TcpGroup.form(3);
        List<Thread> threads =
                threads().stream().filter(one -> !before.contains(one)).toList();
        // One for each member, one for all connections of rank 0; other tests may begin meanwhile.
        assertThat(threads).hasSizeGreaterThanOrEqualTo(4).allMatch(Thread::isDaemon);
        closeAll(group);
        Guard.until("threads end", () -> threads.stream().noneMatch(Thread::isAlive));
    }

    private static List<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(t -> t.getName().startsWith("ep4j-"))
                .toList();
    }
}
