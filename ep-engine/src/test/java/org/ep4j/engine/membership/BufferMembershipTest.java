package org.ep4j.engine.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.EpNoMajorityException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.Engine;
import org.ep4j.testing.Guard;
import org.ep4j.testing.Tier;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Ranks as threads that agree on memberships through slots in memory, and exchange what it takes to move. */
@Tag("verify")
@EnabledOnOs(OS.LINUX)
final class BufferMembershipTest {
    /** A deadline that passes in a test. */
    private static final Duration BRIEF = Duration.ofMillis(300);

    private static final BufferMembership.SilenceLimit NEVER_SILENT =
            new BufferMembership.SilenceLimit(Duration.ofDays(1), false);

    private static final int BUFFER = 7;

    @TempDir
    private Path folder;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private List<LivenessLocks> locks = List.of();
    private List<Bootstrap> bootstraps = List.of();
    private final List<BufferMembership> memberships = new ArrayList<>();
    /** How far the clock of the memberships is ahead. */
    private final AtomicLong later = new AtomicLong();

    @AfterEach
    void close() {
        threads.shutdownNow();
        closeRanks();
    }

    private void closeRanks() {
        locks.forEach(LivenessLocks::close);
        bootstraps.forEach(Bootstrap::close);
        memberships.clear();
    }

    /** Ranks whose declared deaths are proofs, or only suspicions as those of processes on other hosts. */
    private void start(int ranks, boolean lossIsProof) {
        bootstraps = Bootstrap.inProcess(ranks);
        List<HostMemory> memory = Stream.generate(() -> ControlSlotsTest.newMemory(ranks))
                .limit(ranks)
                .toList();
        locks = Stream.generate(() -> LivenessLocks.create("host", List.of(folder), lossIsProof))
                .limit(ranks)
                .toList();
        List<byte[]> announcements =
                locks.stream().map(LivenessLocks::announcement).toList();
        for (int r = 0; r < ranks; r++) {
            locks.get(r).open(r, announcements);
            memberships.add(new BufferMembership(
                    BUFFER,
                    ControlSlotsTest.mapped(r, memory),
                    locks.get(r),
                    bootstraps.get(r),
                    () -> System.nanoTime() + later.get(),
                    NEVER_SILENT,
                    failure ->
                            failure.toBuilder().host("host " + failure.peer()).build()));
        }
        locks.forEach(LivenessLocks::removeName);
    }

    private void lose(int rank) {
        new Engine().declareDead(bootstraps.get(rank), "lost in a test");
    }

    private <T> T recover(int rank, Duration longest, BufferMembership.Move<T> move) {
        return recover(rank, Set.of(), longest, move);
    }

    private <T> T recover(int rank, Set<Integer> masked, Duration longest, BufferMembership.Move<T> move) {
        return memberships
                .get(rank)
                .recover(masked, System.nanoTime() + longest.toNanos(), longest.toMillis(), () -> {}, move);
    }

    /** The end of a rank's thread in the middle of a move; no exception, after which a rank might take part again. */
    private static final class Death extends Error {
        private static final long serialVersionUID = 1L;
    }

    /** The members of an epoch, after they have met in it. */
    private record Moved(long epoch, List<Integer> ranks) {}

    /** Twice, as a move has several steps: ranks that have given up the first one are not taken for some that have come. */
    private static Moved meet(Bootstrap members, List<Integer> ranks, long epoch) {
        members.barrier("first", Guard.minute());
        members.barrier("second", Guard.minute());
        return new Moved(epoch, ranks);
    }

    private CompletableFuture<Moved> recovering(int rank) {
        return CompletableFuture.supplyAsync(() -> recover(rank, Guard.minute(), BufferMembershipTest::meet), threads);
    }

    private List<Moved> recoverAll(Integer... ranks) throws Exception {
        List<CompletableFuture<Moved>> all =
                Arrays.stream(ranks).map(this::recovering).toList();
        List<Moved> results = new ArrayList<>();
        for (CompletableFuture<Moved> one : all) {
            results.add(one.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS));
        }
        return results;
    }

    @Test
    void allRanksMoveTogetherAgainAndAgain() throws Exception {
        start(4, true);
        for (long epoch = 1; epoch < 4; epoch++) {
            assertThat(recoverAll(0, 1, 2, 3)).containsOnly(new Moved(epoch, List.of(0, 1, 2, 3)));
            memberships.forEach(BufferMembership::requireReady);
        }
    }

    @Test
    void membersExchangeBytesOfEachLengthAlsoInSubgroups() throws Exception {
        start(3, true);
        int[] lengths = {0, 1, 2031, 2032, 2033, 4064, 9000};
        List<CompletableFuture<List<String>>> all = new ArrayList<>();
        for (int rank = 0; rank < 3; rank++) {
            int self = rank;
            all.add(CompletableFuture.supplyAsync(
                    () -> recover(self, Guard.minute(), (members, ranks, epoch) -> {
                        List<String> seen = new ArrayList<>();
                        for (int i = 0; i < lengths.length; i++) {
                            byte[] mine = new byte[lengths[(i + self) % lengths.length]];
                            Arrays.fill(mine, (byte) (10 * i + self));
                            members.allGather("round " + i, mine, Guard.minute())
                                    .forEach(theirs -> seen.add(Arrays.toString(theirs)));
                            if (self != 1) {
                                Bootstrap both = members.subgroup("both " + i, List.of(0, 2));
                                assertThat(both.rank()).isEqualTo(self / 2);
                                both.allGather("pair", mine, Guard.minute());
                            }
                        }
                        return seen;
                    }),
                    threads));
        }
        List<String> first = all.get(0).get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS);
        assertThat(first).hasSize(3 * lengths.length).contains(Arrays.toString(filled(9000, 60)));
        for (CompletableFuture<List<String>> one : all) {
            assertThat(one.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS)).isEqualTo(first);
        }
    }

    /** What one rank sends in a step is never taken for an answer in another step. */
    @Test
    void ranksAtDifferentStepsOfAMoveAreRefused() throws Exception {
        start(2, true);
        for (List<String> tags : List.of(List.of("memory", "keys"), List.of("keys", "memory"))) {
            List<CompletableFuture<List<byte[]>>> both = new ArrayList<>();
            for (int rank = 0; rank < 2; rank++) {
                int self = rank;
                String tag = tags.get(rank);
                both.add(CompletableFuture.supplyAsync(
                        () -> recover(
                                self,
                                Guard.minute(),
                                (members, ranks, epoch) ->
                                        members.allGather(tag, new byte[] {(byte) self}, Guard.minute())),
                        threads));
            }
            for (int rank = 0; rank < 2; rank++) {
                CompletableFuture<List<byte[]>> one = both.get(rank);
                String tag = tags.get(rank);
                assertThatThrownBy(() -> one.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS))
                        .cause()
                        .isInstanceOf(EpException.class)
                        .hasMessageContaining(
                                "rank " + (1 - rank) + " is at another step of the recovery than \"" + tag + "\"");
            }
        }
        assertThat(recoverAll(0, 1)).hasSize(2);
    }

    /** The others may have taken part in the step that failed here, so a later one would pair with another one of theirs. */
    @Test
    void aStepOfAMoveThatFailedIsFollowedByNoOther() {
        start(2, true);
        CompletableFuture<Moved> one = recovering(1);
        recover(0, Guard.minute(), (members, ranks, epoch) -> {
            assertThatThrownBy(() -> members.barrier("another", Guard.minute()))
                    .hasMessageContaining("rank 1 is at another step of the recovery than \"another\"");
            for (Bootstrap next : List.of(members, members.subgroup("both", List.of(0, 1)))) {
                assertThatThrownBy(() -> next.barrier("first", Guard.minute()))
                        .hasMessageContaining("an earlier step of the recovery has not ended on this rank");
            }
            return epoch;
        });
        assertThatThrownBy(() -> one.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS))
                .hasMessageContaining("rank 0 is at another step of the recovery than \"first\"");
    }

    private static byte[] filled(int length, int value) {
        byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) value);
        return bytes;
    }

    @Test
    void ranksThatDieTogetherAreLeftOutRankZeroToo() throws Exception {
        start(5, true);
        lose(0);
        lose(2);
        assertThat(recoverAll(1, 3, 4)).containsOnly(new Moved(1, List.of(1, 3, 4)));
        lose(4);
        assertThat(recoverAll(1, 3)).containsOnly(new Moved(2, List.of(1, 3)));
        lose(1);
        assertThat(recoverAll(3)).containsOnly(new Moved(3, List.of(3)));
    }

    @Test
    void aDeathInsideAMoveIsFollowedByAnotherAgreement() throws Exception {
        start(4, true);
        CompletableFuture<Moved> zero = recovering(0);
        CompletableFuture<Moved> one = recovering(1);
        CompletableFuture<Moved> three = recovering(3);
        assertThatThrownBy(() -> recover(2, Guard.minute(), (members, ranks, epoch) -> {
                    lose(2);
                    throw new Death();
                }))
                .isInstanceOf(Death.class);
        Moved moved = zero.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS);
        assertThat(moved.epoch()).isGreaterThan(1);
        assertThat(moved.ranks()).containsExactly(0, 1, 3);
        assertThat(one.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS)).isEqualTo(moved);
        assertThat(three.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS)).isEqualTo(moved);
    }

    @Test
    void aRankThatIsLeftOutButRunsLearnsItFromEachCall() throws Exception {
        start(3, false);
        BufferMembership stopped = memberships.get(2);
        stopped.requireMember("before");
        lose(2);
        assertThat(recoverAll(0, 1)).containsOnly(new Moved(1, List.of(0, 1)));
        assertThatThrownBy(() -> stopped.requireMember("a dispatch"))
                .isInstanceOfSatisfying(EpPeerLostException.class, e -> {
                    assertThat(e.failure().peer()).isEqualTo(2);
                    assertThat(e.failure().phase()).isEqualTo("a dispatch");
                    assertThat(e.recourse()).isEqualTo(EpException.Recourse.REJOIN);
                });
        assertThatThrownBy(() -> recover(2, Guard.minute(), BufferMembershipTest::meet))
                .isInstanceOfSatisfying(EpPeerLostException.class, e -> {
                    assertThat(e.failure().peer()).isEqualTo(2);
                    assertThat(e.recourse()).isEqualTo(EpException.Recourse.REJOIN);
                });
        memberships.get(0).requireMember("an operation of a member");
    }

    @Test
    void noHalfOfTwoRanksContinuesWhenTheOtherIsNotProvedDead() {
        start(2, false);
        lose(1);
        assertThatThrownBy(() -> recover(0, BRIEF, BufferMembershipTest::meet))
                .isInstanceOfSatisfying(EpNoMajorityException.class, e -> {
                    assertThat(e.reached()).isOne();
                    assertThat(e.members()).isEqualTo(2);
                    assertThat(e).hasMessageContaining("1 (silent");
                });
        assertThatThrownBy(() -> memberships.get(0).requireReady())
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("call recover again");
        // It alone could not decide anything either.
        assertThatThrownBy(() -> recover(1, BRIEF, BufferMembershipTest::meet))
                .isInstanceOfAny(EpNoMajorityException.class, EpTimeoutException.class);
    }

    @Test
    void aRankThatDoesNotComeIsNamedAndComesLater() throws Exception {
        start(3, true);
        BufferMembership.Move<Moved> brief = (members, ranks, epoch) -> {
            members.barrier("first", BRIEF);
            return new Moved(epoch, ranks);
        };
        CompletableFuture<Moved> one = CompletableFuture.supplyAsync(() -> recover(1, BRIEF, brief), threads);
        assertThatThrownBy(() -> recover(0, BRIEF, brief))
                .isInstanceOfSatisfying(
                        EpTimeoutException.class, e -> assertThat(e).hasMessageContaining("rank 2 did not take part"));
        assertThatThrownBy(() -> one.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS))
                .hasCauseInstanceOf(EpTimeoutException.class);
        List<Moved> moved = recoverAll(2, 0, 1);
        assertThat(moved.get(0).ranks()).containsExactly(0, 1, 2);
        assertThat(moved).containsOnly(moved.get(0));
    }

    @Test
    void noOperationBeginsBetweenARecoverThatFailedAndOneThatSucceeds() throws Exception {
        start(2, true);
        BufferMembership zero = memberships.get(0);
        zero.requireReady();
        assertThatThrownBy(() -> recover(0, Duration.ZERO, BufferMembershipTest::meet))
                .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                    assertThat(e.failure().peer()).isEqualTo(1);
                    assertThat(e.failure().host()).isEqualTo("host 1");
                });
        assertThatThrownBy(zero::requireReady)
                .isInstanceOfSatisfying(
                        EpStateException.class, e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.RECOVER))
                .hasMessageContaining("call recover again before the next operation");
        recoverAll(0, 1);
        zero.requireReady();
    }

    /** A move that cannot succeed, since the other rank has died, and fails. */
    private BufferMembership.Move<Moved> failing(RuntimeException failure) {
        return (members, ranks, epoch) -> {
            lose(1);
            throw failure;
        };
    }

    @Test
    void aMoveThatFailsAtTheDeadlineIsTheCauseOfTheTimeout() {
        start(2, true);
        CompletableFuture<Moved> one = recovering(1);
        EpException failure = new EpException("no memory can be mapped");
        assertThatThrownBy(() -> recover(0, Guard.minute(), (members, ranks, epoch) -> {
                    later.set(Guard.minute().multipliedBy(2).toNanos());
                    return failing(failure).run(members, ranks, epoch);
                }))
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContaining("no memory can be mapped")
                .cause()
                .isSameAs(failure);
        assertThat(one).failsWithin(Guard.minute());
    }

    /** Another agreement does not help a rank whose GPU is broken. */
    @Test
    void aMoveThatFailsForGoodIsNotTriedAgain() {
        start(2, true);
        CompletableFuture<Moved> one = recovering(1);
        AtomicLong moves = new AtomicLong();
        EpException failure = new EpException("an illegal address", EpException.Recourse.RESTART_PROCESS);
        assertThatThrownBy(() -> recover(0, Guard.minute(), (members, ranks, epoch) -> {
                    moves.incrementAndGet();
                    return failing(failure).run(members, ranks, epoch);
                }))
                .isSameAs(failure);
        assertThat(moves).hasValue(1);
        later.set(Guard.minute().multipliedBy(2).toNanos());
        assertThat(one).failsWithin(Guard.minute());
    }

    /** Where the others read it if this rank dies. */
    @Test
    void aRankHasStoredWhatItSendsAsPromised() {
        start(3, true);
        assertThatThrownBy(() -> recover(0, Duration.ZERO, BufferMembershipTest::meet))
                .isInstanceOf(EpTimeoutException.class);
        ControlSlots slots = memberships.get(1).slots;
        MessageCodec codec = new MessageCodec(3);
        AcceptorRecord sent = slots.read(0, ControlSlots.AGREEMENT, slots.version(0, ControlSlots.AGREEMENT))
                .map(bytes -> codec.message(bytes).acceptor())
                .orElseThrow();
        assertThat(sent.promised()).isNotEqualTo(Vote.NO_BALLOT);
        assertThat(locks.get(1).storedRecord(0, BUFFER, codec.recordBytes())).contains(codec.encode(sent));
    }

    @Test
    void aMaskedRankIsLeftOutAndASecondThoughtIsPossible() throws Exception {
        start(3, true);
        assertThatThrownBy(() -> recover(0, Set.of(1, 2), BRIEF, BufferMembershipTest::meet))
                .isInstanceOf(EpNoMajorityException.class)
                .hasMessageContaining("1 (masked, but its process may run), 2 (masked");
        CompletableFuture<Moved> second = recovering(0);
        // Two that know only that rank 0 leaves them out are a majority, and may continue without it.
        Guard.until(
                "ranks 1 and 2 have read that rank 0 leaves nobody out",
                () -> Stream.of(1, 2)
                        .allMatch(r ->
                                List.of().equals(memberships.get(r).recoveries().get(0))));
        assertThat(recoverAll(1, 2)).allMatch(m -> m.ranks().equals(List.of(0, 1, 2)));
        assertThat(second.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS).ranks())
                .containsExactly(0, 1, 2);
        List<CompletableFuture<Moved>> both = IntStream.of(0, 2)
                .mapToObj(r -> CompletableFuture.supplyAsync(
                        () -> recover(r, Set.of(1), Guard.minute(), BufferMembershipTest::meet), threads))
                .toList();
        for (CompletableFuture<Moved> one : both) {
            assertThat(one.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS).ranks())
                    .containsExactly(0, 2);
        }
    }

    @Test
    void aWaitingRankSeesThatAnotherOneRecovers() throws Exception {
        start(3, true);
        assertThat(memberships.get(1).recoveries()).isEmpty();
        lose(2);
        CompletableFuture<Moved> zero = recovering(0);
        Guard.until("rank 1 sees it", () -> memberships.get(1).recoveries().containsKey(0));
        assertThat(memberships.get(1).recoveries().get(0)).containsExactly(2);
        recoverAll(1);
        zero.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS);
        assertThat(memberships.get(1).recoveries()).isEmpty();
    }

    @Test
    void aWaitingRankSeesThatOthersHaveAgreedAndMove() throws Exception {
        start(3, true);
        CountDownLatch moving = new CountDownLatch(2);
        CountDownLatch seen = new CountDownLatch(1);
        List<CompletableFuture<Moved>> both = Stream.of(0, 2)
                .map(r -> CompletableFuture.supplyAsync(
                        () -> recover(r, Guard.minute(), (members, ranks, epoch) -> {
                            moving.countDown();
                            Guard.await(seen);
                            return meet(members, ranks, epoch);
                        }),
                        threads))
                .toList();
        Guard.await(moving);
        assertThat(memberships.get(1).recoveries().keySet()).containsExactly(0, 2);
        seen.countDown();
        Moved moved = recoverAll(1).get(0);
        for (CompletableFuture<Moved> one : both) {
            assertThat(one.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS)).isEqualTo(moved);
        }
    }

    @Test
    void theCallersCheckEndsTheWaitOutsideAndInsideAMove() {
        start(2, true);
        Runnable check = () -> {
            throw new EpStateException("the buffer is closed");
        };
        BufferMembership zero = memberships.get(0);
        long end = System.nanoTime() + Guard.minute().toNanos();
        assertThatThrownBy(() -> zero.recover(Set.of(), end, 1, check, BufferMembershipTest::meet))
                .hasMessageContaining("the buffer is closed");
        boolean[] inside = {false};
        CompletableFuture<Moved> one = recovering(1);
        assertThatThrownBy(() -> zero.recover(
                        Set.of(),
                        end,
                        1,
                        () -> {
                            if (inside[0]) {
                                check.run();
                            }
                        },
                        (members, ranks, epoch) -> {
                            inside[0] = true;
                            meet(members, ranks, epoch);
                            members.barrier("rank 1 does not come here", Guard.minute());
                            return epoch;
                        }))
                .hasMessageContaining("the buffer is closed");
        one.cancel(true);
    }

    /** Deaths at any time, of any ranks but one, also while others agree or move. */
    @Test
    void survivorsMoveWithTheSameMembers() throws Exception {
        int rounds = Tier.all() ? 300 : 20;
        for (int round = 0; round < rounds; round++) {
            closeRanks();
            Random random = new Random(round);
            int ranks = 2 + random.nextInt(4);
            start(ranks, true);
            int victims = 1 + random.nextInt(ranks - 1);
            List<Integer> order =
                    new ArrayList<>(IntStream.range(0, ranks).boxed().toList());
            Collections.shuffle(order, random);
            Set<Integer> dying = Set.copyOf(order.subList(0, victims));
            Map<Integer, CompletableFuture<Moved>> all = new HashMap<>();
            for (int r : order) {
                long pause = random.nextInt(3_000_000);
                all.put(r, CompletableFuture.supplyAsync(() -> victim(r, dying.contains(r), pause), threads));
            }
            List<Integer> survivors =
                    order.stream().filter(r -> !dying.contains(r)).sorted().toList();
            Set<Moved> last = new HashSet<>();
            for (int r : survivors) {
                Moved moved = all.get(r).get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS);
                assertThat(moved.ranks()).as("round %d, rank %d", round, r).isEqualTo(survivors);
                last.add(moved);
            }
            assertThat(last).as("round %d: the same epoch", round).hasSize(1);
        }
    }

    private Moved victim(int rank, boolean dies, long pause) {
        long end = System.nanoTime() + pause;
        return recover(rank, Guard.minute(), (members, ranks, epoch) -> {
            while (System.nanoTime() - end < 0) {
                Thread.onSpinWait();
            }
            if (dies) {
                lose(rank);
                throw new Death();
            }
            return meet(members, ranks, epoch);
        });
    }
}
