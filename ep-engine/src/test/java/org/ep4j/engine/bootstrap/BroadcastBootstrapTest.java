package org.ep4j.engine.bootstrap;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.Broadcast;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.transport.NanoClock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The contract, for ranks that find each other by a {@link Broadcast}. */
@Tag("verify")
final class BroadcastBootstrapTest extends BootstrapContract {
    private static final EpConfig CONFIG = EpConfig.builder()
            .set(EpKeys.SETUP_TIMEOUT.name(), "60s")
            .set(EpKeys.BOOTSTRAP_HEARTBEAT.name(), "200ms")
            .set(EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT.name(), "10m")
            .build();

    private static Broadcast store(CompletableFuture<byte[]> shared) {
        return (mine, timeout) -> {
            if (mine.length > 0) {
                shared.complete(mine);
            }
            return Ranks.get(shared);
        };
    }

    @Override
    List<Bootstrap> form(int size) {
        Broadcast store = store(new CompletableFuture<>());
        try (Ranks ranks = new Ranks()) {
            return ranks.all(size, rank -> TcpBootstrap.over(rank, size, store, CONFIG, clock));
        }
    }

    @Override
    void kill(Bootstrap member) {
        ((TcpBootstrap) member).cut();
    }

    @Test
    void theRendezvousOfRankZeroReachesTheOthers() {
        Rendezvous here = Rendezvous.here(4711, Secret.of("secret"), Optional.empty(), ChosenInterfaces.NONE);
        Rendezvous there = Rendezvous.parse(here.encode());

        assertThat(there).isEqualTo(here);
        assertThat(there.candidates()).first().isEqualTo(InetAddress.getLoopbackAddress());
        assertThat(there.candidates())
                .hasSize(1
                        + here.addresses().stream()
                                .filter(a -> !a.isEmpty())
                                .toList()
                                .size());
    }

    @Test
    void onlyTheAddressOfARequiredInterfaceIsBroadcast() {
        EpConfig config =
                CONFIG.toBuilder().set(EpKeys.BOOTSTRAP_INTERFACE.name(), "=lo").build();
        CompletableFuture<byte[]> shared = new CompletableFuture<>();
        Broadcast store = store(shared);
        try (Ranks ranks = new Ranks()) {
            List<Bootstrap> group = ranks.all(3, rank -> Bootstrap.over(rank, 3, store, config));
            ranks.all(3, rank -> {
                group.get(rank).close();
                return rank;
            });
        }
        assertThat(Rendezvous.parse(Ranks.get(shared)).candidates()).containsExactly(InetAddress.getLoopbackAddress());
    }

    @Test
    void rankZeroAloneHasSomethingToSay() {
        byte[] where = new Rendezvous("", "far", 1, Secret.of("s"), List.of("127.0.0.1")).encode();
        AtomicReference<byte[]> said = new AtomicReference<>(where);
        NanoClock quick = TestClock.advancedByEachLook(Duration.ofSeconds(5));
        Broadcast launcher = (mine, timeout) -> {
            said.set(mine);
            return where;
        };
        assertThatThrownBy(() -> TcpBootstrap.over(1, 2, launcher, CONFIG, quick))
                .isInstanceOf(EpTimeoutException.class);
        assertThat(said.get()).isEmpty();
    }

    @Test
    void onAnotherMachineTheLoopbackIsNotTried() throws Exception {
        Rendezvous there = Rendezvous.parse(
                new Rendezvous("another boot", "far", 4711, Secret.of("s"), List.of("10.1.2.3", "fd00::1")).encode());

        assertThat(there.candidates())
                .containsExactly(InetAddress.getByName("10.1.2.3"), InetAddress.getByName("fd00::1"));
    }

    @Test
    void anotherVersionIsReportedWithTheRemedy() {
        assertThatThrownBy(() -> Rendezvous.parse("ep4j-rendezvous-9\nx".getBytes(UTF_8)))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("\"ep4j-rendezvous-9\" and has 2 lines")
                .hasMessageContaining("same ep4j version");
    }

    @Test
    void theSecretIsRandomAndNotThatOfTheSettings() {
        AtomicReference<byte[]> sent = new AtomicReference<>(new byte[0]);
        EpConfig config =
                EpConfig.builder().set(EpKeys.BOOTSTRAP_SECRET.name(), "mine").build();
        Bootstrap.over(
                        0,
                        1,
                        (mine, timeout) -> {
                            sent.set(mine);
                            return mine;
                        },
                        config)
                .close();

        Rendezvous where = Rendezvous.parse(sent.get());
        assertThat(where.secret().text()).matches("[0-9a-f]{64}");
        assertThat(where.port()).isPositive();
    }

    @Test
    void aBroadcastThatFailsEndsTheJoinWithItsReason() {
        for (int rank = 0; rank < 2; rank++) {
            int mine = rank;
            assertThatThrownBy(() -> Bootstrap.over(
                            mine,
                            2,
                            (text, timeout) -> {
                                throw new EpException("the launcher is gone");
                            },
                            CONFIG))
                    .hasMessage("the launcher is gone");
        }
    }

    /** Languages without checked exceptions, such as Kotlin, throw them from here. */
    @Test
    void aBroadcastThatThrowsACheckedExceptionFreesThePort() {
        AtomicInteger port = new AtomicInteger();
        IOException reason = new IOException("the launcher is gone");
        assertThatThrownBy(() -> Bootstrap.over(
                        0,
                        2,
                        (mine, timeout) -> {
                            port.set(Rendezvous.parse(mine).port());
                            assertThat(isServed(port.get())).isTrue();
                            throw BroadcastBootstrapTest.<RuntimeException>unchecked(reason);
                        },
                        CONFIG))
                .isSameAs(reason);
        assertThat(isServed(port.get())).isFalse();
    }

    private static boolean isServed(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // the cast is not checked, so any exception passes
    private static <E extends Throwable> E unchecked(Throwable failure) throws E {
        throw (E) failure;
    }

    @Test
    void aRendezvousThatIsGoneIsReportedWithoutTorchrunsVariables() {
        byte[] gone = new Rendezvous("", "far", 1, Secret.of("s"), List.of("127.0.0.1")).encode();
        EpConfig config =
                EpConfig.builder().set(EpKeys.SETUP_TIMEOUT.name(), "60s").build();
        NanoClock quick = TestClock.advancedByEachLook(Duration.ofSeconds(5));

        assertThatThrownBy(() -> TcpBootstrap.over(1, 2, (mine, timeout) -> gone, config, quick))
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContaining("rank 0 at far:1")
                .hasMessageNotContaining("MASTER_ADDR");
    }

    @Test
    void theBroadcastGetsWhatIsLeftOfTheTime() {
        AtomicReference<Duration> given = new AtomicReference<>(Duration.ZERO);
        Bootstrap.over(
                        0,
                        1,
                        (mine, timeout) -> {
                            given.set(timeout);
                            return mine;
                        },
                        CONFIG)
                .close();
        assertThat(given.get()).isPositive().isLessThanOrEqualTo(Duration.ofSeconds(60));
    }
}
