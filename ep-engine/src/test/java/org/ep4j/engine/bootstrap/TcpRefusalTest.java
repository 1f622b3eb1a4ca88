package org.ep4j.engine.bootstrap;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.LogCapture;
import org.ep4j.engine.bootstrap.Handshake.Hello;
import org.ep4j.engine.bootstrap.Handshake.Proof;
import org.ep4j.engine.bootstrap.Handshake.Reply;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Refused connections: each gets the reason, is logged in one line, and keeps nobody else out. */
@Tag("verify")
class TcpRefusalTest {
    private static final int SIZE = 3;

    private final Ranks ranks = new Ranks();
    private final LogCapture log = new LogCapture(RendezvousServer.class);
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
        Guard.until("a line with: " + text, () -> log.lines().stream().anyMatch(line -> line.contains(text)));
        assertThat(log.lines())
                .filteredOn(line -> line.contains(text))
                .hasSize(1)
                .allMatch(l -> l.contains("/127.0.0.1:"));
    }

    @Test
    void anotherSecretIsRefusedWithoutEitherSideShowingIts() {
        EpUnavailableException error = refused(TcpGroup.secret(rank(1), "wrong secret"));
        assertThat(error)
                .hasMessageContaining("does not know the secret of rank 1")
                .hasMessageContaining("this rank and rank 0 have different secrets")
                .hasMessageContaining("EP_BOOTSTRAP_SECRET");
        assertThat(error.getMessage()).doesNotContain("wrong secret").doesNotContain(TcpGroup.SECRET_TEXT);
        loggedOnce("may have different secrets");
        assertThat(log.lines()).noneMatch(l -> l.contains("wrong secret") || l.contains(TcpGroup.SECRET_TEXT));
        goodRanksForm();
    }

    /** As a stranger does that has no use for the server's proof. */
    @Test
    void aFalseProofIsRefused() throws IOException {
        try (Socket stranger = TcpGroup.connect(server.port())) {
            Deadline deadline = Deadline.in(Ranks.LONG, NanoClock.SYSTEM);
            stranger.getOutputStream()
                    .write(new Hello(Hello.VERSION, 1, SIZE, true, Handshake.nonce(), Handshake.nonce(), 1).bytes());
            assertThat(Reply.read(stranger, deadline).type()).isEqualTo(Reply.Type.CHALLENGE);
            stranger.getOutputStream().write(new byte[Proof.BYTES]);
            assertThat(Reply.read(stranger, deadline).text())
                    .contains("this rank and rank 0 have different secrets")
                    .contains("EP_BOOTSTRAP_SECRET");
        }
        loggedOnce("this rank and rank 0 have different secrets");
        goodRanksForm();
    }

    /** The key of a connection depends on the salts of both sides: a member has to mix in its own, which the server did not choose. */
    @Test
    void refusesProofUnderKeyWithoutSaltOfMember() throws IOException {
        try (Socket member = TcpGroup.connect(server.port())) {
            Deadline deadline = Deadline.in(Ranks.LONG, NanoClock.SYSTEM);
            Hello hello = new Hello(Hello.VERSION, 1, SIZE, true, Handshake.nonce(), Handshake.nonce(), 1);
            member.getOutputStream().write(hello.bytes());
            byte[] answer = Reply.read(member, deadline).body();
            byte[] challenge = Arrays.copyOf(answer, Reply.CHALLENGE_BYTES);
            byte[] key = rendezvousKey(challenge);
            assertThat(Arrays.copyOfRange(answer, challenge.length, answer.length))
                    .isEqualTo(Proof.SERVER.of(Secret.connectionKey(key, hello.salt()), hello.bytes(), challenge))
                    .isNotEqualTo(Proof.SERVER.of(key, hello.bytes(), challenge));
            member.getOutputStream().write(Proof.MEMBER.of(key, hello.bytes(), challenge));
            assertThat(Reply.read(member, deadline).type()).isEqualTo(Reply.Type.REFUSED);
        }
        goodRanksForm();
    }

    /** As somebody does who has seen a member join, and does not know the secret. */
    @Test
    void refusesHandshakeThatIsPlayedBack() throws IOException {
        Deadline deadline = Deadline.in(Ranks.LONG, NanoClock.SYSTEM);
        Hello hello = new Hello(Hello.VERSION, 1, SIZE, true, Handshake.nonce(), Handshake.nonce(), 1);
        byte[] proof;
        try (Socket member = TcpGroup.connect(server.port())) {
            member.getOutputStream().write(hello.bytes());
            proof = proof(hello, Reply.read(member, deadline));
            member.getOutputStream().write(proof);
            assertThat(Reply.read(member, deadline).type()).isEqualTo(Reply.Type.ACCEPTED);
        }
        Guard.until("the rank is free again", () -> !server.taken(1));
        try (Socket stranger = TcpGroup.connect(server.port())) {
            stranger.getOutputStream().write(hello.bytes());
            assertThat(Reply.read(stranger, deadline).type()).isEqualTo(Reply.Type.CHALLENGE);
            stranger.getOutputStream().write(proof);
            Reply reply = Reply.read(stranger, deadline);
            assertThat(reply.type()).isEqualTo(Reply.Type.REFUSED);
            assertThat(reply.text()).contains("this rank and rank 0 have different secrets");
        }
    }

    @Test
    void doesNotTrustServerThatProvesUnderKeyWithoutSaltOfMember() throws IOException {
        try (FakeServer fake = new FakeServer(zero.secret(), false)) {
            assertThat(refused(TcpGroup.rank(zero, 1, fake.port())))
                    .hasMessageContaining("does not know the secret of rank 1");
            assertThat(fake.learned()).as("bytes that depend on the secret").isZero();
        }
        // The same server with the salt gets an answer, so it is the salt that was missing.
        try (FakeServer fake = new FakeServer(zero.secret(), true);
                Socket socket = TcpGroup.connect(fake.port())) {
            TcpSettings one = TcpGroup.rank(zero, 1, fake.port());
            Deadline deadline = Deadline.in(Ranks.LONG, NanoClock.SYSTEM);
            assertThatThrownBy(() -> Handshake.join(socket, one, Handshake.nonce(), 1, zero.secret()::key, deadline))
                    .isInstanceOf(IOException.class);
            assertThat(fake.learned()).as("bytes of the member's proof").isEqualTo(Proof.BYTES);
        }
    }

    @Test
    void noSecretWhereOneIsNeededIsRefused() {
        assertThat(refused(TcpGroup.secret(rank(1), "")))
                .hasMessageContaining("rank 0 has a secret, this rank has none");
        goodRanksForm();
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
            assertThat(fake.learned()).as("bytes that depend on the secret").isZero();
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
        String newer = "version " + (Hello.VERSION + 1);
        assertThat(text).contains(newer).contains("rank 0 version " + Hello.VERSION);
        loggedOnce(newer + " of the rendezvous protocol");
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
        Guard.until("rank 1 is in", () -> server.taken(1));
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

    /** An answer that comes too late makes a process try again, while rank 0 holds the connection of its earlier attempt. */
    @Test
    void aLaterAttemptOfAProcessTakesThePlaceOfItsEarlierOne() throws IOException {
        byte[] process = Handshake.nonce();
        try (RawMember early = new RawMember(rank(1), process, 1)) {
            Guard.until("rank 1 is in", () -> server.taken(1));
            try (RawMember late = new RawMember(rank(1), process, 2)) {
                assertThat(ended(early.socket())).isTrue();
                late.send(Wire.contribute(Hub.SETUP, Hub.SETUP_TAG, new byte[0]));
                Guard.until(
                        "the later attempt takes part", () -> !server.missing().contains(1));
                assertThat(refused(rank(1))).hasMessageContaining("rank 1 is taken by the process at /127.0.0.1:");
                assertThatThrownBy(() -> new RawMember(rank(1), process, 1).close())
                        .as("an attempt that was on its way for long")
                        .hasMessageContaining("rank 1 has connected again in the meantime");
            }
        }
        Guard.until("rank 1 is free again", () -> !server.taken(1));
        goodRanksForm();
    }

    @Test
    void aProcessThatDiedBeforeTheGroupFormedMayComeAgain() {
        TestClock clock = new TestClock();
        CompletableFuture<EpException> first = ranks.start(() ->
                catchThrowableOfType(EpException.class, () -> TcpGroup.join(TcpGroup.clock(rank(1), clock), null)));
        Guard.until("rank 1 waits for the others", () -> !server.missing().contains(1));
        clock.advance(Ranks.LONG);
        assertThat(Ranks.get(first)).hasMessageContaining("rank 0, rank 2 did not take part");
        Guard.until("rank 1 is free again", () -> !server.taken(1));
        goodRanksForm();
    }

    @Test
    void thePortIsClosedOnceTheGroupHasFormed() throws IOException {
        try (Socket silent = TcpGroup.connect(server.port())) {
            List<Bootstrap> group = ranks.all(SIZE, r -> TcpGroup.join(rank(r), r == 0 ? server : null));
            assertThat(ended(silent)).isTrue();
            Guard.until("the port is closed", () -> !TcpGroup.accepts(server.port()));
            TcpSettings late = TcpGroup.clock(rank(2), TestClock.advancedByEachLook(Duration.ofMillis(500)));
            assertThat(catchThrowableOfType(EpTimeoutException.class, () -> TcpGroup.join(late, null)))
                    .hasMessageContaining("refused")
                    .hasMessageContaining("a group that has formed accepts no more ranks");
            assertThat(ranks.all(SIZE, r -> BootstrapContract.gather(group.get(r), "t", "x")))
                    .hasSize(SIZE);
            ranks.all(SIZE, r -> {
                group.get(r).close();
                return r;
            });
        }
    }

    /** What it sends afterwards must not make the connection end before it has read the reason. */
    @Test
    void theReasonOfARefusalArrivesAlsoIfMoreIsSent() throws IOException {
        try (Socket socket = TcpGroup.connect(server.port())) {
            byte[] hello = new Hello(Hello.VERSION + 1, 1, SIZE, true, Handshake.nonce(), Handshake.nonce(), 1).bytes();
            socket.getOutputStream().write(hello, 0, Hello.PREFIX_BYTES);
            loggedOnce("of the rendezvous protocol");
            for (int i = Hello.PREFIX_BYTES; i < hello.length; i++) {
                socket.getOutputStream().write(hello[i]);
            }
            assertThat(Reply.read(socket, Deadline.in(Ranks.LONG, NanoClock.SYSTEM))
                            .text())
                    .contains("version " + (Hello.VERSION + 1));
        }
        goodRanksForm();
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

    @ParameterizedTest
    @CsvSource({"10, 15", "60, 15", "100, 25"})
    void aSilentAndADrippingStrangerAreCutOffByTheHandshakesDeadline(long setup, long handshake) throws IOException {
        TestClock clock = new TestClock();
        RendezvousServer other =
                RendezvousServer.start(TcpGroup.clock(TcpGroup.timeout(zero, Duration.ofSeconds(setup)), clock));
        try (Socket silent = TcpGroup.connect(other.port());
                Socket dripping = TcpGroup.connect(other.port())) {
            Guard.until("both are in their handshakes", () -> other.handshakes() == 2);
            // One byte of a good beginning now and then: each is in time, all of them are not.
            byte[] hello = new Hello(Hello.VERSION, 1, SIZE, true, Handshake.nonce(), Handshake.nonce(), 1).bytes();
            for (int i = 0; i < hello.length / 2; i++) {
                dripping.getOutputStream().write(hello[i]);
                clock.advance(Duration.ofSeconds(handshake).dividedBy(hello.length / 2 - 1));
            }
            assertThat(ended(silent)).isTrue();
            assertThat(ended(dripping)).isTrue();
            Guard.until(
                    "both are logged",
                    () -> log.lines().stream()
                                    .filter(l -> l.contains("its handshake was not done after " + handshake + " s"))
                                    .count()
                            == 2);
        } finally {
            other.abandon();
        }
    }

    @Test
    void aSilentStrangerKeepsNobodyElseOut() throws IOException {
        // No time passes, so its handshake never ends by itself.
        try (Socket silent = TcpGroup.connect(server.port())) {
            goodRanksForm();
            assertThat(ended(silent)).as("the rendezvous is over").isTrue();
        }
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
            CompletableFuture<EpUnavailableException> wrong =
                    ranks.start(() -> refused(TcpGroup.secret(rank(1), "wrong")));
            assertThat(Ranks.get(wrong)).hasMessageContaining("secret");
            // No time passes, so no stranger gives way.
            goodRanksForm();
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
            for (int i = 0; i < SIZE + RendezvousServer.SPARE_HANDSHAKES + 5; i++) {
                strangers.add(TcpGroup.connect(server.port()));
            }
            // No time passes, so it was not its own deadline that ended it.
            assertThat(ended(strangers.get(0))).isTrue();
            goodRanksForm();
        } finally {
            for (Socket stranger : strangers) {
                stranger.close();
            }
        }
    }

    @Test
    void manySilentConnectionsDoNotEvictAnIdentifiedRank() throws IOException {
        List<Socket> strangers = new ArrayList<>();
        try (Socket early = TcpGroup.connect(server.port())) {
            Deadline deadline = Deadline.in(Ranks.LONG, NanoClock.SYSTEM);
            Hello hello = new Hello(Hello.VERSION, 1, SIZE, true, Handshake.nonce(), Handshake.nonce(), 1);
            early.getOutputStream().write(hello.bytes());
            Reply challenge = Reply.read(early, deadline);
            for (int i = 0; i < SIZE + RendezvousServer.SPARE_HANDSHAKES + 20; i++) {
                strangers.add(TcpGroup.connect(server.port()));
            }
            assertThat(ended(strangers.get(0))).isTrue();
            early.getOutputStream().write(proof(hello, challenge));
            assertThat(Reply.read(early, deadline).type()).isEqualTo(Reply.Type.ACCEPTED);
        } finally {
            for (Socket stranger : strangers) {
                stranger.close();
            }
        }
    }

    private byte[] rendezvousKey(byte[] challenge) {
        byte[] salt = Arrays.copyOfRange(challenge, 1 + Proof.BYTES, 1 + Proof.BYTES + Secret.SALT_BYTES);
        return zero.secret().key(salt, zero.secret().iterations());
    }

    private byte[] proof(Hello hello, Reply reply) {
        byte[] challenge = Arrays.copyOf(reply.body(), Reply.CHALLENGE_BYTES);
        byte[] key = Secret.connectionKey(rendezvousKey(challenge), hello.salt());
        return Proof.MEMBER.of(key, hello.bytes(), challenge);
    }

    @Test
    void aMemberThatSendsAnOversizedFrameIsCutOffBeforeAnythingIsAllocated() throws IOException {
        CompletableFuture<Bootstrap> own = ranks.start(() -> TcpGroup.join(rank(0), server));
        CompletableFuture<Bootstrap> two = ranks.start(() -> TcpGroup.join(rank(2), null));
        try (RawMember evil = new RawMember(rank(1), Handshake.nonce(), 1)) {
            evil.send(Wire.contribute(Hub.SETUP, "start", new byte[0]));
            Bootstrap zeroth = Ranks.get(own);
            Bootstrap second = Ranks.get(two);
            evil.send(new byte[] {0x7f, -1, -1, -1, 2});
            Guard.until("rank 1 is lost", () -> second.state(1) == MemberState.LOST);
            assertThatThrownBy(() -> second.barrier("t", Ranks.LONG))
                    .hasMessageContaining("length 2147483647, which the protocol does not allow");
            zeroth.close();
            second.close();
        }
    }

    /** A handshake by hand that knows the secret; gives the text of the refusal. */
    private String handshake(int version, int rank, int size) throws IOException {
        try (Socket socket = TcpGroup.connect(server.port())) {
            Deadline deadline = Deadline.in(Ranks.LONG, NanoClock.SYSTEM);
            Hello hello = new Hello(version, rank, size, true, Handshake.nonce(), Handshake.nonce(), 1);
            socket.getOutputStream().write(hello.bytes());
            Reply reply = Reply.read(socket, deadline);
            if (reply.type() == Reply.Type.CHALLENGE) {
                socket.getOutputStream().write(proof(hello, reply));
                reply = Reply.read(socket, deadline);
            }
            assertThat(reply.type()).isEqualTo(Reply.Type.REFUSED);
            return reply.text();
        }
    }

    private static boolean ended(Socket socket) {
        try {
            return socket.getInputStream().read() < 0;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (IOException e) {
            return true;
        }
    }
}
