package org.ep4j.bootstrap;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whoever must not come in is told why, is logged in one line, and keeps nobody else out. */
@Timeout(60)
class TcpRefusalTest {
    private static final int SIZE = 3;

    private final Ranks ranks = new Ranks();
    private final LogCapture log = new LogCapture();
    private RendezvousServer server;
    private TcpSettings zero;

    @BeforeEach
    void listen() {
        zero = TcpGroup.settings(0, SIZE, 0);
        server = RendezvousServer.start(zero);
    }

    @AfterEach
    void end() {
        server.abandon();
        log.close();
        ranks.close();
    }

    private TcpSettings rank(int rank) {
        return TcpGroup.rank(zero, rank, server.port());
    }

    /** The three good ranks form, gather once and leave. */
    private void goodRanksForm() {
        List<Bootstrap> group = ranks.all(SIZE, r -> TcpGroup.join(rank(r), r == 0 ? server : null));
        assertThat(ranks.all(SIZE, r -> BootstrapContract.gather(group.get(r), "t", "x")))
                .hasSize(SIZE);
        assertThat(group).allSatisfy(b -> assertThat(b.state(1)).isEqualTo(MemberState.ALIVE));
        ranks.all(SIZE, r -> {
            group.get(r).close();
            return r;
        });
    }

    private static EpUnavailableException refused(TcpSettings settings) {
        return catchThrowableOfType(EpUnavailableException.class, () -> TcpGroup.join(settings, null));
    }

    private void loggedOnce(String text) {
        Ranks.until("a line with: " + text, () -> log.lines().stream().anyMatch(line -> line.contains(text)));
        assertThat(log.lines())
                .filteredOn(line -> line.contains(text))
                .hasSize(1)
                .allMatch(l -> l.contains("/127.0.0.1:"));
    }

    @Test
    void anotherSecretIsRefusedWithoutEitherSideShowingIts() {
        EpUnavailableException error = refused(TcpGroup.secret(rank(1), "wrong secret"));
        assertThat(error)
                .hasMessageContaining("refused rank 1")
                .hasMessageContaining("the secret of this rank is not that of rank 0")
                .hasMessageContaining("EP_BOOTSTRAP_SECRET");
        assertThat(error.getMessage()).doesNotContain("wrong secret").doesNotContain("a secret for tests");
        loggedOnce("the secret of this rank is not that of rank 0");
        assertThat(log.lines()).noneMatch(l -> l.contains("wrong secret") || l.contains("a secret for tests"));
        goodRanksForm();
    }

    @Test
    void noSecretWhereOneIsNeededIsRefused() {
        assertThat(refused(TcpGroup.secret(rank(1), "")))
                .hasMessageContaining("rank 0 has a secret, this rank has none");
        goodRanksForm();
    }

    /** A member by hand that has none, and says that it has one. */
    @Test
    void emptySecretIsRefusedAlsoFromAMemberThatClaimsToHaveOne() throws IOException {
        TcpSettings none = TcpGroup.secret(rank(1), "");
        assertThatThrownBy(() -> new RawMember(none).close())
                .as("a member whose proof is by the empty secret")
                .hasMessageContaining("the secret of this rank is not that of rank 0");
        goodRanksForm();
    }

    @Test
    void keyOfTheEmptySecretProvesNoOther() {
        byte[] salt = Keys.random(Keys.SALT_BYTES);
        Hello hello = new Hello(1, 1, 2, true, Keys.random(Keys.BYTES), Keys.random(Keys.BYTES));
        byte[] nonce = Keys.random(Keys.BYTES);
        byte[] empty = new Session(Keys.stretch("", salt), hello, nonce).memberProof();
        for (String secret : List.of(" ", "\0", "no secret", "s")) {
            assertThat(new Session(Keys.stretch(secret, salt), hello, nonce).memberProof())
                    .as("proof by the secret \"" + secret + "\", beside that by none")
                    .isNotEqualTo(empty);
        }
    }

    @Test
    void aSecretWhereThereIsNoneIsRefused() {
        RendezvousServer open = RendezvousServer.start(TcpGroup.secret(zero, ""));
        try {
            assertThat(refused(TcpGroup.rank(zero, 1, open.port())))
                    .hasMessageContaining("this rank has a secret, rank 0 has none");
        } finally {
            open.abandon();
        }
    }

    @Test
    void aServerThatDoesNotKnowTheSecretIsNotTrusted() throws IOException {
        try (FakeServer fake = new FakeServer()) {
            EpUnavailableException error = refused(TcpGroup.rank(zero, 1, fake.port()));
            assertThat(error).hasMessageContaining("does not know the secret of rank 1");
        }
    }

    @Test
    void anotherNumberOfRanksIsRefused() {
        TcpSettings five = TcpGroup.settings(1, 5, server.port());
        assertThat(refused(five))
                .hasMessageContaining("started for 5 ranks, rank 0 for 3")
                .hasMessageContaining("WORLD_SIZE");
        loggedOnce("started for 5 ranks");
        goodRanksForm();
    }

    @Test
    void aRankThatDoesNotExistIsRefused() throws IOException {
        for (int rank : new int[] {SIZE, -1, Integer.MAX_VALUE}) {
            String text = handshake(Hello.VERSION, rank, SIZE);
            assertThat(text).contains("rank " + rank + " does not exist").contains("[0, 3)");
            loggedOnce("rank " + rank + " does not exist");
        }
        goodRanksForm();
    }

    @Test
    void anotherProtocolVersionIsRefusedWithBothVersions() throws IOException {
        String text = handshake(Hello.VERSION + 1, 1, SIZE);
        assertThat(text).contains("version 3").contains("rank 0 version 2");
        loggedOnce("version 3 of the rendezvous protocol");
        goodRanksForm();
    }

    @Test
    void aMemberOfAnotherVersionShowsTheTextOfItsRefusal() throws IOException {
        try (FakeServer fake = new FakeServer(Hello.VERSION + 6)) {
            assertThat(refused(TcpGroup.rank(zero, 1, fake.port()))).hasMessageContaining("a newer server says no");
        }
    }

    @Test
    void aSecondProcessWithTheSameRankIsRefusedAndTheFirstStays() {
        CompletableFuture<Bootstrap> first = ranks.start(() -> TcpGroup.join(rank(1), null));
        Ranks.until("rank 1 is in", () -> server.taken(1));
        assertThat(refused(rank(1)))
                .hasMessageContaining("rank 1 is taken by the process at /127.0.0.1:")
                .hasMessageContaining("RANK");
        CompletableFuture<Bootstrap> two = ranks.start(() -> TcpGroup.join(rank(2), null));
        Bootstrap own = TcpGroup.join(rank(0), server);
        assertThat(Ranks.get(first).size()).isEqualTo(SIZE);
        List<Bootstrap> all = List.of(own, Ranks.get(first), Ranks.get(two));
        ranks.all(SIZE, r -> {
            all.get(r).close();
            return r;
        });
    }

    @Test
    void anotherAttemptOfTheSameProcessTakesThePlaceOfTheFirst() throws IOException {
        byte[] process = Keys.random(Keys.BYTES);
        UnaryOperator<byte[]> key = salt -> Keys.stretch(zero.secret(), salt);
        try (RawMember first = new RawMember(rank(1), key, process);
                RawMember second = new RawMember(rank(1), key, process)) {
            assertThatThrownBy(first::receive).isInstanceOf(IOException.class);
            assertThat(refused(rank(1))).as("another process").hasMessageContaining("rank 1 is taken");
            second.meet();
            CompletableFuture<Bootstrap> two = ranks.start(() -> TcpGroup.join(rank(2), null));
            Bootstrap own = TcpGroup.join(rank(0), server);
            assertThat(Ranks.get(two).state(1)).isEqualTo(MemberState.ALIVE);
            assertThat(second.receive().type()).isEqualTo(Frame.Type.RESULT);
            ranks.all(2, r -> {
                (r == 0 ? own : Ranks.get(two)).close();
                return r;
            });
        }
    }

    @Test
    void refusalsAreLoggedTenTimesAMinuteAndThenCounted() throws IOException {
        for (int i = 0; i < 40; i++) {
            try (Socket stranger = TcpGroup.connect(server.port())) {
                stranger.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(US_ASCII));
                assertThat(ended(stranger)).isTrue();
            }
        }
        assertThat(log.lines()).hasSize(ThrottledLog.MOST);
        goodRanksForm();
        Ranks.until("the rest is counted", () -> log.lines().stream().anyMatch(l -> l.contains("left out 30 more")));
    }

    @Test
    void aMemberThatDeclaresTheWholeGroupIsLostAloneAndTheOthersGatherOn() throws IOException {
        CompletableFuture<Bootstrap> own = ranks.start(() -> TcpGroup.join(rank(0), server));
        CompletableFuture<Bootstrap> two = ranks.start(() -> TcpGroup.join(rank(2), null));
        try (RawMember evil = new RawMember(rank(1))) {
            evil.meet();
            List<Bootstrap> good = List.of(Ranks.get(own), Ranks.get(two));
            List<Bootstrap> sub = ranks.all(2, r -> good.get(r).subgroup("s", List.of(0, 2)));
            evil.send(Wire.declare(Hub.ROOT, List.of(1, 2)));
            Ranks.until("it is lost", () -> good.get(1).state(1) == MemberState.LOST);
            assertThat(ranks.all(2, r -> BootstrapContract.gather(sub.get(r), "t", "x")))
                    .hasSize(2);
            assertThatThrownBy(() -> good.get(0).barrier("t", Ranks.LONG))
                    .isInstanceOf(EpPeerLostException.class)
                    .hasMessageContaining("rank 1 is lost");
            ranks.all(2, r -> {
                good.get(r).close();
                return r;
            });
        }
    }

    @Test
    void aProcessThatDiedBeforeTheGroupFormedMayComeAgain() {
        CompletableFuture<EpException> first = ranks.start(() -> catchThrowableOfType(
                EpException.class, () -> TcpGroup.join(TcpGroup.timeout(rank(1), Duration.ofMillis(300)), null)));
        assertThat(Ranks.get(first)).hasMessageContaining("rank 0, rank 2 did not take part");
        Ranks.until("rank 1 is free again", () -> !server.taken(1));
        goodRanksForm();
    }

    @Test
    void portClosesOnceTheGroupHasFormed() {
        List<Bootstrap> group = ranks.all(SIZE, r -> TcpGroup.join(rank(r), r == 0 ? server : null));
        Ranks.until("the port is closed", () -> {
            try (Socket late = TcpGroup.connect(server.port())) {
                return !late.isConnected();
            } catch (IOException e) {
                return true;
            }
        });
        assertThat(ranks.all(SIZE, r -> BootstrapContract.gather(group.get(r), "t", "x")))
                .hasSize(SIZE);
        ranks.all(SIZE, r -> {
            group.get(r).close();
            return r;
        });
    }

    @Test
    void garbageIsRefusedAndLogged() throws IOException {
        try (Socket stranger = TcpGroup.connect(server.port())) {
            stranger.getOutputStream().write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(US_ASCII));
            assertThat(ended(stranger)).isTrue();
        }
        loggedOnce("47 45 54 20 2f 20");
        goodRanksForm();
    }

    @Test
    void aSilentAndADrippingStrangerAreCutOffByTheHandshakesDeadline() throws Exception {
        long start = System.nanoTime();
        try (Socket silent = TcpGroup.connect(server.port());
                Socket dripping = TcpGroup.connect(server.port())) {
            CompletableFuture<Void> drip = ranks.run(() -> drip(dripping));
            List<CompletableFuture<Bootstrap>> early = List.of(
                    ranks.start(() -> TcpGroup.join(rank(1), null)), ranks.start(() -> TcpGroup.join(rank(2), null)));
            Ranks.until("both are in", () -> server.taken(1) && server.taken(2));
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Acceptor.HANDSHAKE.dividedBy(2));
            assertThat(ended(silent)).isTrue();
            Ranks.get(drip);
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Acceptor.HANDSHAKE.plusSeconds(5));
            assertThat(log.lines())
                    .filteredOn(l -> l.contains("not done after 15 s"))
                    .hasSize(2);
            List<Bootstrap> group =
                    List.of(TcpGroup.join(rank(0), server), Ranks.get(early.get(0)), Ranks.get(early.get(1)));
            ranks.all(SIZE, r -> {
                group.get(r).close();
                return r;
            });
        }
    }

    /** One byte of a good beginning now and then: each is in time, all of them are not. */
    private static void drip(Socket socket) {
        byte[] hello =
                new Hello(Hello.VERSION, 1, SIZE, true, Keys.random(Keys.BYTES), Keys.random(Keys.BYTES)).bytes();
        try {
            for (byte b : hello) {
                socket.getOutputStream().write(b);
                BootstrapContract.pause(500);
            }
        } catch (IOException e) {
            return;
        }
        throw new AssertionError("the dripping stranger was never cut off");
    }

    @Test
    void strangersOfEveryKindAtOnceDoNotDelayTheGoodRanks() throws IOException {
        List<Socket> strangers = new ArrayList<>();
        try {
            for (int i = 0; i < 20; i++) {
                strangers.add(TcpGroup.connect(server.port()));
                Socket garbage = TcpGroup.connect(server.port());
                strangers.add(garbage);
                garbage.getOutputStream().write(new byte[] {1, 2, 3, 4, 5, 6, 7});
            }
            // Before the group stands and the port closes.
            assertThat(refused(TcpGroup.secret(rank(1), "wrong"))).hasMessageContaining("secret");
            long start = System.nanoTime();
            goodRanksForm();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(4));
        } finally {
            for (Socket stranger : strangers) {
                stranger.close();
            }
        }
    }

    @Test
    void moreSilentStrangersThanHandshakesAllowedPushOutTheOldest() throws IOException {
        List<Socket> strangers = new ArrayList<>();
        try {
            for (int i = 0; i < SIZE + Acceptor.SPARE_HANDSHAKES + 5; i++) {
                strangers.add(TcpGroup.connect(server.port()));
            }
            long start = System.nanoTime();
            assertThat(ended(strangers.get(0))).isTrue();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Acceptor.HANDSHAKE.minusSeconds(1));
            goodRanksForm();
        } finally {
            for (Socket stranger : strangers) {
                stranger.close();
            }
        }
    }

    @Test
    void aMemberThatSendsAnOversizedFrameIsCutOffBeforeAnythingIsAllocated() throws IOException {
        CompletableFuture<Bootstrap> own = ranks.start(() -> TcpGroup.join(rank(0), server));
        CompletableFuture<Bootstrap> two = ranks.start(() -> TcpGroup.join(rank(2), null));
        try (RawMember evil = new RawMember(rank(1))) {
            evil.meet();
            Bootstrap zeroth = Ranks.get(own);
            Bootstrap second = Ranks.get(two);
            byte[] digest = new byte[Frame.DIGEST_BYTES];
            evil.socket.write(ByteBuffer.allocate(Frame.HEADER_BYTES)
                    .putInt(Integer.MAX_VALUE)
                    .put((byte) 2)
                    .put(digest)
                    .put(evil.up.next(Integer.MAX_VALUE, 2, digest))
                    .flip());
            Ranks.until("rank 1 is lost", () -> second.state(1) == MemberState.LOST);
            assertThatThrownBy(() -> second.barrier("t", Ranks.LONG))
                    .hasMessageContaining("length 2147483647, which the protocol does not have");
            zeroth.close();
            second.close();
        }
    }

    /** A handshake by hand that knows the secret; gives the text of the refusal. */
    private String handshake(int version, int rank, int size) throws IOException {
        try (Socket socket = TcpGroup.connect(server.port())) {
            Deadline deadline = Deadline.in(Ranks.LONG);
            Hello hello = new Hello(version, rank, size, true, Keys.random(Keys.BYTES), Keys.random(Keys.BYTES));
            socket.getOutputStream().write(hello.bytes());
            Reply reply = Reply.read(socket, deadline);
            if (reply.type() == Reply.Type.CHALLENGE) {
                byte[] salt = Arrays.copyOfRange(reply.body(), 1, 1 + Keys.SALT_BYTES);
                byte[] nonce = Arrays.copyOfRange(reply.body(), 1 + Keys.SALT_BYTES, reply.body().length);
                Session session = new Session(Keys.stretch(zero.secret(), salt), hello, nonce);
                socket.getOutputStream().write(session.memberProof());
                reply = Reply.read(socket, deadline);
            }
            assertThat(reply.type()).isEqualTo(Reply.Type.REFUSED);
            return reply.text();
        }
    }

    private static boolean ended(Socket socket) {
        try {
            return socket.getInputStream().read() < 0;
        } catch (IOException e) {
            return true;
        }
    }
}
