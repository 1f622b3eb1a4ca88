package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Processes that die, stop and leave, and what the others see. */
@Tag("verify")
class TcpFaultTest {
    /** Short beside the time after which a silent member is lost. */
    private static final Duration STEP = Duration.ofMinutes(4);

    private final Ranks ranks = new Ranks();
    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void end() throws Exception {
        for (AutoCloseable thing : open) {
            thing.close();
        }
        ranks.close();
    }

    private <T extends AutoCloseable> T opened(T thing) {
        open.add(thing);
        return thing;
    }

    private RankProcess process(TcpSettings settings) {
        return opened(new RankProcess(settings));
    }

    /** A group in which this JVM has rank 0 and the others are processes. */
    private record Mixed(Bootstrap zero, List<RankProcess> others, RendezvousServer server) {}

    private Mixed mixed(TcpSettings zero) {
        RendezvousServer server = RendezvousServer.start(zero);
        List<RankProcess> others = new ArrayList<>();
        for (int rank = 1; rank < zero.size(); rank++) {
            others.add(process(TcpGroup.rank(zero, rank, server.port())));
        }
        Bootstrap own = opened(TcpGroup.join(zero, server));
        others.forEach(other -> assertThat(other.next()).startsWith("joined "));
        return new Mixed(own, others, server);
    }

    /** Lets time pass in steps, in each of which a record of each living member arrives. */
    private static void pass(TestClock clock, Duration time, LongSupplier... received) {
        for (Duration passed = Duration.ZERO; passed.compareTo(time) < 0; passed = passed.plus(STEP)) {
            List<Long> before =
                    Arrays.stream(received).map(LongSupplier::getAsLong).toList();
            clock.advance(STEP);
            for (int i = 0; i < received.length; i++) {
                int one = i;
                Guard.until("a heartbeat arrives", () -> received[one].getAsLong() > before.get(one));
            }
        }
    }

    private static EpPeerLostException lost(Supplier<?> work) {
        return catchThrowableOfType(EpPeerLostException.class, work::get);
    }

    @Test
    void aProcessKilledIsSeenAsLostLongBeforeItsSilenceWouldShow() {
        Mixed group = mixed(TcpGroup.settings(0, 3, 0));
        CompletableFuture<EpPeerLostException> waiting =
                ranks.start(() -> lost(() -> group.zero().allGather("t", new byte[0], Ranks.LONG)));
        group.others().get(0).send("gather t x");
        BootstrapContract.pause(100);
        // Its silence would be too long after ten minutes.
        group.others().get(1).kill();
        assertThat(Ranks.get(waiting).failure().peer()).isEqualTo(2);
        assertThat(group.zero().state(2)).isEqualTo(MemberState.LOST);
        assertThat(group.others().get(0).next()).startsWith("failed EpPeerLostException rank 2 is lost");
        assertThat(group.others().get(0).ask("state 2")).isEqualTo("state LOST");
        assertThat(group.zero().state(1)).isEqualTo(MemberState.ALIVE);
    }

    @Test
    void aProcessThatStopsAnsweringIsLostWhenItsSilenceIsTooLong() {
        assumeTrue(Files.isExecutable(Path.of("/bin/kill")), "no /bin/kill to stop a process with");
        TestClock clock = new TestClock();
        Mixed group = mixed(TcpGroup.clock(TcpGroup.settings(0, 2, 0), clock));
        LongSupplier server = () -> group.server().received(0);
        LongSupplier member = ((TcpBootstrap) group.zero())::received;
        pass(
                clock,
                TcpGroup.NEVER.multipliedBy(2),
                server,
                member,
                () -> group.server().received(1));
        assertThat(group.zero().state(1))
                .as("heartbeats keep an idle member alive")
                .isEqualTo(MemberState.ALIVE);
        group.others().get(0).signal("STOP");
        pass(clock, TcpGroup.NEVER.plus(STEP), server, member);
        EpPeerLostException error = lost(() -> group.zero().allGather("t", new byte[0], Ranks.LONG));
        assertThat(error)
                .hasMessageContaining("rank 1 is lost")
                .hasMessageContaining("its connection was silent for 600000 ms");
        group.others().get(0).signal("CONT");
        assertThat(group.others().get(0).ask("gather later x"))
                .as("a process that goes on after it was given up")
                .startsWith("failed EpPeerLostException")
                .contains("without rank 0");
    }

    @Test
    void aRankZeroThatStopsAnsweringIsLostToo() throws IOException {
        assumeTrue(Files.isExecutable(Path.of("/bin/kill")), "no /bin/kill to stop a process with");
        TestClock clock = new TestClock();
        TcpSettings one = TcpGroup.clock(TcpGroup.settings(1, 2, TcpGroup.freePort()), clock);
        RankProcess zero = process(TcpGroup.rank(one, 0, one.port()));
        Bootstrap member = opened(TcpBootstrap.join(one));
        assertThat(zero.next()).isEqualTo("joined 0");
        zero.signal("STOP");
        clock.advance(TcpGroup.NEVER);
        EpPeerLostException error = lost(() -> member.allGather("t", new byte[0], Ranks.LONG));
        assertThat(error.failure().peer()).isZero();
        assertThat(error).hasMessageContaining("connection was silent");
    }

    @Test
    void whenRankZeroIsKilledTheOthersLoseItAndTheirGathersEnd() throws IOException {
        int port = TcpGroup.freePort();
        RankProcess zero = process(TcpGroup.settings(0, 3, port));
        List<Bootstrap> members = ranks.all(2, i -> opened(TcpBootstrap.join(TcpGroup.settings(i + 1, 3, port))));
        assertThat(zero.next()).isEqualTo("joined 0");
        Bootstrap sub = members.get(0).subgroup("s", List.of(1, 2));
        long before = members.get(0).stateChanges();
        List<CompletableFuture<EpPeerLostException>> waiting = List.of(
                ranks.start(() -> lost(() -> members.get(0).allGather("t", new byte[0], Ranks.LONG))),
                ranks.start(() -> lost(() -> members.get(1).allGather("t", new byte[0], Ranks.LONG))),
                ranks.start(() -> lost(() -> sub.allGather("t", new byte[0], Ranks.LONG))));
        BootstrapContract.pause(100);
        zero.kill();
        assertThat(Ranks.get(waiting.get(0)).failure().peer()).isZero();
        assertThat(Ranks.get(waiting.get(1)).failure().peer()).isZero();
        assertThat(Ranks.get(waiting.get(2)))
                .as("rank 0 has no number in the subgroup")
                .hasMessageContaining("without rank 0, which relays the data of all members")
                .satisfies(lost -> {
                    assertThat(lost.failure().peer()).isEqualTo(-1);
                    assertThat(lost.recourse()).isEqualTo(EpException.Recourse.REJOIN);
                });
        assertThat(members).allMatch(member -> member.state(0) == MemberState.LOST);
        assertThat(members.get(0).stateChanges()).isGreaterThan(before);
        assertThat(lost(() -> members.get(0).allGather("later", new byte[0], Ranks.LONG))
                        .failure()
                        .peer())
                .isZero();
        assertThat(lost(() -> members.get(0).subgroup("later", List.of(1, 0)))
                        .failure()
                        .peer())
                .isEqualTo(1);
    }

    @Test
    void aProcessThatEndsWithoutClosingIsLostAndOneThatClosesHasLeft() {
        Mixed group = mixed(TcpGroup.settings(0, 3, 0));
        assertThat(group.others().get(0).ask("close")).isEqualTo("closed");
        group.others().get(0).send("return");
        group.others().get(1).send("return");
        assertThat(group.others().get(0).exit(Ranks.LONG)).isZero();
        assertThat(group.others().get(1).exit(Ranks.LONG)).isZero();
        Guard.until(
                "both are known",
                () -> group.zero().state(1) != MemberState.ALIVE && group.zero().state(2) != MemberState.ALIVE);
        assertThat(group.zero().state(1)).isEqualTo(MemberState.LEFT);
        assertThat(group.zero().state(2)).isEqualTo(MemberState.LOST);
    }

    @Test
    void atTheOrdinaryEndOfAJobNobodyIsLost() throws IOException {
        int port = TcpGroup.freePort();
        List<RankProcess> group = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            group.add(process(TcpGroup.settings(rank, 4, port)));
        }
        group.forEach(rank -> assertThat(rank.next()).startsWith("joined"));
        group.forEach(rank -> rank.send("gather end x"));
        group.forEach(rank -> rank.send("close"));
        group.forEach(rank -> {
            for (int other = 0; other < 4; other++) {
                rank.send("state " + other);
            }
            rank.send("return");
        });
        for (RankProcess rank : group) {
            assertThat(rank.next()).isEqualTo("gathered [x, x, x, x]");
            assertThat(rank.next()).isEqualTo("closed");
            for (int other = 0; other < 4; other++) {
                assertThat(rank.next()).isIn("state LEFT", "state ALIVE");
            }
            // Rank 0 would linger for ten minutes.
            assertThat(rank.exit(Ranks.LONG)).isZero();
        }
    }

    @Test
    void aGroupInOneJvmThatClosesAtOnceNeverSeesALostMember() {
        for (int round = 0; round < 30; round++) {
            List<Bootstrap> group = TcpGroup.form(4);
            ranks.all(4, r -> {
                BootstrapContract.gather(group.get(r), "end", "x");
                group.get(r).close();
                return r;
            });
            for (Bootstrap member : group) {
                for (int other = 0; other < 4; other++) {
                    assertThat(member.state(other)).isNotEqualTo(MemberState.LOST);
                }
            }
        }
    }

    @Test
    void theOthersGoOnWhileRankZerosProcessLingersInItsExit() throws IOException {
        int port = TcpGroup.freePort();
        TcpSettings settings = TcpGroup.settings(0, 3, port);
        RankProcess zero = process(settings);
        List<Bootstrap> members = ranks.all(2, i -> opened(TcpBootstrap.join(TcpGroup.rank(settings, i + 1, port))));
        assertThat(zero.next()).isEqualTo("joined 0");
        assertThat(zero.ask("close")).as("close does not wait").isEqualTo("closed");
        zero.send("return");
        Guard.until("rank 0 has left", () -> members.get(0).state(0) == MemberState.LEFT);
        BootstrapContract.pause(500);
        List<Bootstrap> sub = ranks.all(2, i -> members.get(i).subgroup("s", List.of(1, 2)));
        assertThat(ranks.all(2, i -> BootstrapContract.gather(sub.get(i), "t", "x")))
                .hasSize(2);
        assertThat(zero.alive()).isTrue();
        members.forEach(Bootstrap::close);
        assertThat(zero.exit(Ranks.LONG)).isZero();
    }

    @Test
    void whenTheLingerTimeIsOverRankZeroIsMissedButNotLost() {
        TestClock clock = new TestClock();
        TcpSettings zero = TcpGroup.linger(TcpGroup.clock(TcpGroup.settings(0, 2, 0), clock), STEP);
        List<Bootstrap> group = TcpGroup.form(zero);
        group.forEach(this::opened);
        group.get(0).close();
        Bootstrap alone = group.get(1).subgroup("s", List.of(1));
        assertThat(alone.allGather("served", new byte[0], Ranks.LONG)).hasSize(1);
        clock.advance(STEP);
        EpPeerLostException error = lost(() -> {
            for (int i = 0; i < 100_000; i++) {
                alone.allGather("t" + i, new byte[0], Ranks.LONG);
            }
            return "still served";
        });
        assertThat(error).hasMessageContaining("rank 0 has left, and its rendezvous has ended");
        assertThat(group.get(1).state(0)).isEqualTo(MemberState.LEFT);
    }

    @Test
    void whatAllHaveJoinedIsDeliveredEvenIfRankZeroClosesAtOnce() {
        for (int round = 0; round < 20; round++) {
            List<Bootstrap> group = TcpGroup.form(4);
            byte[] large = new byte[1 << 20];
            List<List<byte[]>> seen = ranks.all(4, r -> {
                List<byte[]> parts = group.get(r).allGather("last", large, Ranks.LONG);
                if (r == 0) {
                    group.get(0).close();
                }
                return parts;
            });
            assertThat(seen).allSatisfy(parts -> assertThat(parts).hasSize(4).allMatch(p -> p.length == 1 << 20));
            group.forEach(Bootstrap::close);
        }
    }

    /** It sends heartbeats all the time, as a process does whose reading thread hangs. */
    @Test
    void aMemberThatTakesNothingOfWhatIsSentIsLost() throws IOException {
        TestClock clock = new TestClock();
        TcpSettings zero = TcpGroup.clock(TcpGroup.settings(0, 2, 0), clock);
        RendezvousServer server = RendezvousServer.start(zero);
        CompletableFuture<Bootstrap> own = ranks.start(() -> TcpGroup.join(zero, server));
        try (RawMember lazy = new RawMember(TcpGroup.rank(zero, 1, server.port()), Handshake.nonce(), 1)) {
            lazy.send(Wire.contribute(Hub.SETUP, Hub.SETUP_TAG, new byte[0]));
            TcpBootstrap good = (TcpBootstrap) opened(Ranks.get(own));
            for (int i = 0; i < 4; i++) {
                lazy.send(Wire.contribute(Hub.ROOT, "t" + i, new byte[4 << 20]));
                good.allGather("t" + i, new byte[4 << 20], Ranks.LONG);
            }
            for (Duration passed = Duration.ZERO;
                    good.state(1) == MemberState.ALIVE && passed.compareTo(TcpGroup.NEVER.multipliedBy(3)) < 0;
                    passed = passed.plus(STEP)) {
                long before = server.received(1);
                long own0 = server.received(0);
                long received = good.received();
                clock.advance(STEP);
                lazy.send(Frame.HEARTBEAT);
                Guard.until(
                        "heartbeats come",
                        () -> (server.received(1) > before || good.state(1) != MemberState.ALIVE)
                                && server.received(0) > own0
                                && good.received() > received);
            }
            assertThat(good.state(1)).isEqualTo(MemberState.LOST);
            assertThat(lost(() -> good.allGather("t", new byte[0], Ranks.LONG)))
                    .hasMessageContaining("rank 1 is lost")
                    .hasMessageContaining("its connection accepted no data for 600000 ms");
        }
    }

    @Test
    void aMemberThatNeverReadsDoesNotHoldUpTheOthers() throws IOException {
        TestClock clock = new TestClock();
        TcpSettings zero = TcpGroup.clock(TcpGroup.settings(0, 3, 0), clock);
        RendezvousServer server = RendezvousServer.start(zero);
        CompletableFuture<Bootstrap> own = ranks.start(() -> TcpGroup.join(zero, server));
        CompletableFuture<Bootstrap> two =
                ranks.start(() -> TcpGroup.join(TcpGroup.rank(zero, 2, server.port()), null));
        try (RawMember lazy = new RawMember(TcpGroup.rank(zero, 1, server.port()), Handshake.nonce(), 1)) {
            lazy.send(Wire.contribute(Hub.SETUP, "start", new byte[0]));
            List<Bootstrap> good = List.of(opened(Ranks.get(own)), opened(Ranks.get(two)));
            for (int i = 0; i < 4; i++) {
                // The lazy member takes part, so the hub has results for it that it does not read.
                String tag = "t" + i;
                lazy.send(Wire.contribute(Hub.ROOT, tag, new byte[0]));
                assertThat(ranks.all(2, r -> good.get(r).allGather(tag, new byte[4 << 20], Ranks.LONG)))
                        .hasSize(2);
            }
            pass(
                    clock,
                    TcpGroup.NEVER.plus(STEP),
                    () -> server.received(0),
                    () -> server.received(2),
                    ((TcpBootstrap) good.get(0))::received,
                    ((TcpBootstrap) good.get(1))::received);
            Guard.until("it is lost", () -> good.get(1).state(1) == MemberState.LOST);
            assertThat(good.get(1).state(0)).isEqualTo(MemberState.ALIVE);
        }
    }
}
