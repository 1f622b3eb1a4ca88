package org.ep4j.engine.bootstrap;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What every bootstrap must do, whichever way its members are connected. */
abstract class BootstrapContract {
    private static final Duration LONG = Ranks.LONG;

    /** Measures the time of all members; it stands still unless the test advances it. */
    final TestClock clock = new TestClock();

    private final Ranks ranks = new Ranks();
    private final List<Bootstrap> open = new ArrayList<>();

    /** A new group, with the clock of the test. */
    abstract List<Bootstrap> form(int size);

    /** Makes a member look as if its process had crashed. */
    abstract void kill(Bootstrap member);

    private List<Bootstrap> group(int size) {
        List<Bootstrap> members = form(size);
        open.addAll(members);
        return members;
    }

    @AfterEach
    void closeAll() {
        List<CompletableFuture<Void>> closing =
                open.stream().map(member -> ranks.run(member::close)).toList();
        closing.forEach(Ranks::get);
        ranks.close();
    }

    @Test
    void everyMemberGetsTheBytesOfAllInRankOrder() {
        List<Bootstrap> group = group(5);
        List<List<String>> seen = ranks.all(5, r -> gather(group.get(r), "hello", "from " + r));
        assertThat(seen)
                .allSatisfy(
                        texts -> assertThat(texts).containsExactly("from 0", "from 1", "from 2", "from 3", "from 4"));
    }

    @Test
    void ranksAndSizeAreThoseOfTheGroup() {
        List<Bootstrap> group = group(3);
        assertThat(group).extracting(Bootstrap::rank).containsExactly(0, 1, 2);
        assertThat(group).extracting(Bootstrap::size).containsOnly(3);
        assertThat(group.get(2)).hasToString(group.get(2).toString()).asString().contains("rank 2 of 3");
    }

    @Test
    void aGroupOfOneGathersItsOwnBytes() {
        Bootstrap only = group(1).get(0);
        assertThat(gather(only, "a", "me")).containsExactly("me");
    }

    @Test
    void membersMayContributeDifferentLengthsAndNothing() {
        List<Bootstrap> group = group(3);
        List<List<byte[]>> seen = ranks.all(3, r -> group.get(r).allGather("t", new byte[r * 1000], LONG));
        assertThat(seen)
                .allSatisfy(parts -> assertThat(parts).extracting(p -> p.length).containsExactly(0, 1000, 2000));
    }

    @Test
    void payloadsOfTheLargestSizeArriveUnchanged() {
        List<Bootstrap> group = group(3);
        List<List<byte[]>> seen = ranks.all(3, r -> {
            byte[] mine = new byte[16 << 20];
            Arrays.fill(mine, (byte) (r + 1));
            mine[mine.length - 1] = (byte) (100 + r);
            return group.get(r).allGather("large", mine, LONG);
        });
        for (List<byte[]> parts : seen) {
            for (int r = 0; r < 3; r++) {
                assertThat(parts.get(r)).hasSize(16 << 20);
                assertThat(parts.get(r)[0]).isEqualTo((byte) (r + 1));
                assertThat(parts.get(r)[(16 << 20) - 1]).isEqualTo((byte) (100 + r));
            }
        }
    }

    @Test
    void aPayloadOverTheLimitIsRefusedWithValueAndLimit() {
        Bootstrap only = group(1).get(0);
        assertThatThrownBy(() -> only.allGather("t", new byte[(16 << 20) + 1], LONG))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("16777217")
                .hasMessageContaining("at most 16777216");
    }

    @Test
    void anEmptyOrEndlessTagIsRefused() {
        Bootstrap only = group(1).get(0);
        for (String tag : List.of("", "x".repeat(8193))) {
            assertThatThrownBy(() -> only.allGather(tag, new byte[0], LONG))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("1 to 8192 characters");
        }
        assertThat(gather(only, "\u00e4".repeat(8192), "x")).containsExactly("x");
    }

    @Test
    void resultsBelongToTheCaller() {
        List<Bootstrap> group = group(2);
        byte[] mine = "mine".getBytes(UTF_8);
        List<List<byte[]>> seen = ranks.all(2, r -> group.get(r).allGather("t", mine, LONG));
        seen.get(0).get(0)[0] = 'X';
        mine[1] = 'X';
        assertThat(new String(seen.get(1).get(0), UTF_8)).isEqualTo("mine");
        assertThat(new String(seen.get(1).get(1), UTF_8)).isEqualTo("mine");
    }

    @Test
    void gathersWithDifferentTagsOverlapInAnyOrder() {
        List<Bootstrap> group = group(3);
        int tags = 24;
        List<CompletableFuture<List<String>>> all = new ArrayList<>();
        for (int r = 0; r < 3; r++) {
            for (int t = 0; t < tags; t++) {
                // Every member starts them in another order.
                int tag = (t * 7 + r * 5) % tags;
                Bootstrap member = group.get(r);
                all.add(ranks.start(() -> gather(member, "tag" + tag, tag + "/" + member.rank())));
            }
        }
        for (CompletableFuture<List<String>> future : all) {
            List<String> texts = Ranks.get(future);
            String tag = texts.get(0).substring(0, texts.get(0).indexOf('/'));
            assertThat(texts).containsExactly(tag + "/0", tag + "/1", tag + "/2");
        }
    }

    @Test
    void manyGathersOneAfterAnotherStayInStep() {
        List<Bootstrap> group = group(4);
        ranks.all(4, r -> {
            for (int i = 0; i < 200; i++) {
                assertThat(gather(group.get(r), "step" + i, "s" + i)).containsOnly("s" + i);
            }
            return r;
        });
    }

    @Test
    void aBarrierHoldsUntilTheLastMemberComes() {
        List<Bootstrap> group = group(3);
        List<CompletableFuture<Void>> early = List.of(
                ranks.run(() -> group.get(0).barrier("b", LONG)),
                ranks.run(() -> group.get(1).barrier("b", LONG)));
        pause(100);
        assertThat(early).noneMatch(CompletableFuture::isDone);
        group.get(2).barrier("b", LONG);
        early.forEach(Ranks::get);
    }

    @Test
    void aTimeoutNamesEveryMemberThatDidNotComeAndNoOther() {
        List<Bootstrap> group = group(4);
        AtomicReference<Thread> waiter = new AtomicReference<>();
        CompletableFuture<EpTimeoutException> other = ranks.start(() -> {
            waiter.set(Thread.currentThread());
            return catchThrowableOfType(
                    EpTimeoutException.class, () -> group.get(2).allGather("lonely", new byte[0], LONG));
        });
        awaitWaiting(waiter);
        // Rank 2's part was sent before this one, so it has arrived when all have the result.
        ranks.all(4, r -> gather(group.get(r), "order", "x"));
        EpTimeoutException error = timeout(group.get(0), "lonely");
        clock.advance(LONG);
        EpTimeoutException second = Ranks.get(other);
        assertThat(error)
                .hasMessageContaining("lonely")
                .hasMessageContaining("rank 1, ")
                .hasMessageContaining("rank 3");
        assertThat(error.getMessage()).doesNotContain("rank 0").doesNotContain("rank 2");
        assertThat(error.failure().expected()).isEqualTo(4);
        assertThat(error.failure().peer()).isEqualTo(-1);
        assertThat(second).hasMessageContaining("rank 1, ").hasMessageContaining("rank 3 did not take part");
    }

    @Test
    void aTimeoutNamesTheMissingMember() {
        List<Bootstrap> group = group(2);
        EpTimeoutException error = timeout(group.get(1), "t");
        assertThat(error.failure().peer()).isZero();
        assertThat(error.failure().seen()).isEqualTo(1);
        assertThat(error).hasMessageContaining("rank 0 did not take part");
    }

    @Test
    void aDeadlineThatHasPassedIsATimeoutAndNotAHang() {
        List<Bootstrap> group = group(2);
        for (Duration past : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
            assertThatThrownBy(() -> group.get(0).allGather("t" + past, new byte[0], past))
                    .isInstanceOf(EpTimeoutException.class)
                    .hasMessageContaining("rank 1 did not take part");
        }
    }

    @Test
    void theLongestDurationIsAccepted() {
        Bootstrap only = group(1).get(0);
        assertThat(only.allGather("t", new byte[1], Duration.ofSeconds(Long.MAX_VALUE)))
                .hasSize(1);
    }

    @Test
    void afterATimeoutTheGroupIsStillOfUse() {
        List<Bootstrap> group = group(2);
        timeout(group.get(0), "first");
        assertThat(ranks.all(2, r -> gather(group.get(r), "second", "x"))).hasSize(2);
    }

    @Test
    void whoGaveUpIsNamedToWhoComesLate() {
        List<Bootstrap> group = group(2);
        timeout(group.get(0), "t");
        assertThat(timeout(group.get(1), "t")).hasMessageContaining("rank 0 did not take part");
    }

    @Test
    void theSameTagTwiceAtOnceIsRefusedOnTheSpot() {
        List<Bootstrap> group = group(2);
        CompletableFuture<List<String>> one = ranks.start(() -> gather(group.get(0), "t", "a"));
        CompletableFuture<List<String>> two = ranks.start(() -> gather(group.get(0), "t", "a"));
        Guard.until("one of the two is refused", () -> one.isDone() || two.isDone());
        CompletableFuture<List<String>> refused = one.isDone() ? one : two;
        assertThatThrownBy(() -> Ranks.get(refused))
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("use every tag once");
        assertThat(gather(group.get(1), "t", "b")).containsExactly("a", "b");
        assertThat(Ranks.get(refused == one ? two : one)).containsExactly("a", "b");
    }

    @Test
    void aMemberThatClosesIsLeftEverywhereAndNeverLost() {
        List<Bootstrap> group = group(3);
        long before = group.get(0).stateChanges();
        group.get(1).close();
        Guard.until("0 knows", () -> group.get(0).state(1) == MemberState.LEFT);
        Guard.until("2 knows", () -> group.get(2).state(1) == MemberState.LEFT);
        assertThat(group.get(1).state(1)).isEqualTo(MemberState.LEFT);
        assertThat(group.get(0).stateChanges()).isGreaterThan(before);
        assertThat(group.get(0).state(2)).isEqualTo(MemberState.ALIVE);
        pause(100);
        assertThat(group.get(0).state(1)).isEqualTo(MemberState.LEFT);
    }

    @Test
    void aKilledMemberIsLostEverywhere() {
        List<Bootstrap> group = group(3);
        long before = group.get(0).stateChanges();
        kill(group.get(1));
        // Who sees the change counted sees the state, and not the other way round.
        Guard.until("0 knows", () -> group.get(0).stateChanges() > before);
        assertThat(group.get(0).state(1)).isEqualTo(MemberState.LOST);
        Guard.until("2 knows", () -> group.get(2).state(1) == MemberState.LOST);
        assertThatThrownBy(() -> group.get(1).allGather("t", new byte[0], LONG)).isInstanceOf(EpException.class);
    }

    @Test
    void aGatherFailsAtOnceWhenAMissingMemberDies() {
        List<Bootstrap> group = group(3);
        CompletableFuture<EpPeerLostException> zero = ranks.start(() -> lost(group.get(0), "t"));
        CompletableFuture<EpPeerLostException> two = ranks.start(() -> lost(group.get(2), "t"));
        pause(50);
        kill(group.get(1));
        for (EpPeerLostException error : List.of(Ranks.get(zero), Ranks.get(two))) {
            assertThat(error.failure().peer()).isEqualTo(1);
            assertThat(error).hasMessageContaining("rank 1 is lost").hasMessageContaining("allGather \"t\"");
            assertThat(error.failure().phase()).contains("t");
        }
    }

    @Test
    void aGatherFailsAtOnceWhenAMissingMemberLeaves() {
        List<Bootstrap> group = group(2);
        CompletableFuture<EpPeerLostException> zero = ranks.start(() -> lost(group.get(0), "t"));
        pause(50);
        group.get(1).close();
        assertThat(Ranks.get(zero)).hasMessageContaining("rank 1 has left and did not take part");
    }

    @Test
    void aGatherThatBeginsAfterTheDeathFailsAtOnce() {
        List<Bootstrap> group = group(3);
        kill(group.get(2));
        Guard.until("known", () -> group.get(0).state(2) == MemberState.LOST);
        assertThat(lost(group.get(0), "later").failure().peer()).isEqualTo(2);
        assertThat(lost(group.get(1), "later").failure().peer()).isEqualTo(2);
    }

    @Test
    void aMemberThatTookPartMayLeaveBeforeTheOthersCome() {
        List<Bootstrap> group = group(3);
        AtomicReference<Thread> waiter = new AtomicReference<>();
        CompletableFuture<EpStateException> two = ranks.start(() -> {
            waiter.set(Thread.currentThread());
            return catchThrowableOfType(
                    EpStateException.class, () -> group.get(2).allGather("t", "two".getBytes(UTF_8), LONG));
        });
        awaitWaiting(waiter);
        group.get(2).close();
        assertThat(Ranks.get(two)).isInstanceOf(EpStateException.class);
        CompletableFuture<List<String>> zero = ranks.start(() -> gather(group.get(0), "t", "zero"));
        assertThat(gather(group.get(1), "t", "one")).containsExactly("zero", "one", "two");
        assertThat(Ranks.get(zero)).containsExactly("zero", "one", "two");
    }

    @Test
    void closingEndsTheMembersOwnWaits() {
        List<Bootstrap> group = group(2);
        CompletableFuture<EpStateException> waiting = ranks.start(() ->
                catchThrowableOfType(EpStateException.class, () -> group.get(0).allGather("t", new byte[0], LONG)));
        pause(50);
        group.get(0).close();
        assertThat(Ranks.get(waiting)).hasMessageContaining("closed");
        assertThatThrownBy(() -> group.get(0).barrier("u", LONG))
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("closed");
        assertThatThrownBy(() -> group.get(0).subgroup("s", List.of(0))).isInstanceOf(EpStateException.class);
    }

    @Test
    void aSecondCloseDoesNothing() {
        List<Bootstrap> group = group(2);
        group.get(1).close();
        group.get(1).close();
        assertThat(group.get(1).state(1)).isEqualTo(MemberState.LEFT);
    }

    @Test
    void aStateOutsideTheGroupIsRefused() {
        Bootstrap only = group(1).get(0);
        for (int rank : new int[] {-1, 1}) {
            assertThatThrownBy(() -> only.state(rank))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("[0, 1)");
        }
    }

    @Test
    void anInterruptEndsTheWaitAndStaysSet() {
        List<Bootstrap> group = group(2);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> group.get(0).allGather("t", new byte[0], LONG))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("interrupted");
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void aMemberThatClosesInAnInterruptedThreadHasLeftAndIsNotLost() {
        List<Bootstrap> group = group(2);
        Thread.currentThread().interrupt();
        group.get(1).close();
        assertThat(Thread.interrupted()).isTrue();
        Guard.until("known", () -> group.get(0).state(1) != MemberState.ALIVE);
        assertThat(group.get(0).state(1)).isEqualTo(MemberState.LEFT);
    }

    // Subgroups.

    @Test
    void aSubgroupNumbersItsMembersInTheGivenOrder() {
        List<Bootstrap> group = group(4);
        List<Integer> members = List.of(3, 0, 2);
        List<List<String>> seen = ranks.all(4, r -> {
            if (r == 1) {
                return List.of("3", "0", "2");
            }
            Bootstrap sub = group.get(r).subgroup("s", members);
            assertThat(sub.rank()).isEqualTo(members.indexOf(r));
            assertThat(sub.size()).isEqualTo(3);
            return gather(sub, "t", String.valueOf(r));
        });
        assertThat(seen).allSatisfy(texts -> assertThat(texts).containsExactly("3", "0", "2"));
    }

    @Test
    void twoSubgroupsAndTheGroupUseTheSameTagAtOnce() {
        List<Bootstrap> group = group(4);
        List<CompletableFuture<List<String>>> whole = new ArrayList<>();
        for (Bootstrap member : group) {
            whole.add(ranks.start(() -> gather(member, "t", "all" + member.rank())));
        }
        List<List<String>> halves = ranks.all(4, r -> {
            Bootstrap half = group.get(r).subgroup("half" + r % 2, List.of(r % 2, r % 2 + 2));
            return gather(half, "t", "half" + r);
        });
        assertThat(halves.get(0)).containsExactly("half0", "half2").isEqualTo(halves.get(2));
        assertThat(halves.get(1)).containsExactly("half1", "half3").isEqualTo(halves.get(3));
        whole.forEach(f -> assertThat(Ranks.get(f)).containsExactly("all0", "all1", "all2", "all3"));
    }

    @Test
    void aSubgroupOfASubgroupWorksAndItsNameMayRepeat() {
        List<Bootstrap> group = group(4);
        List<List<String>> seen = ranks.all(4, r -> {
            if (r == 0) {
                return List.of("3", "1");
            }
            Bootstrap outer = group.get(r).subgroup("s", List.of(1, 2, 3));
            if (r == 2) {
                return List.of("3", "1");
            }
            return gather(outer.subgroup("s", List.of(2, 0)), "t", String.valueOf(r));
        });
        assertThat(seen).allSatisfy(texts -> assertThat(texts).containsExactly("3", "1"));
    }

    @Test
    void errorsInASubgroupUseItsNumbersAndNameTheGroupsToo() {
        List<Bootstrap> group = group(4);
        Bootstrap sub = group.get(3).subgroup("s", List.of(3, 2));
        EpTimeoutException late = timeout(sub, "t");
        assertThat(late.failure().peer()).isEqualTo(1);
        assertThat(late).hasMessageContaining("rank 1 (rank 2 of the group)").hasMessageContaining("subgroup s");
        CompletableFuture<EpPeerLostException> waiting = ranks.start(() -> lost(sub, "u"));
        pause(50);
        kill(group.get(2));
        EpPeerLostException error = Ranks.get(waiting);
        assertThat(error.failure().peer()).isEqualTo(1);
        assertThat(error).hasMessageContaining("rank 1 (rank 2 of the group) is lost");
        assertThat(sub.state(1)).isEqualTo(MemberState.LOST);
        assertThat(sub.state(0)).isEqualTo(MemberState.ALIVE);
    }

    @Test
    void aDeathOutsideASubgroupDoesNotDisturbIt() {
        List<Bootstrap> group = group(3);
        List<Bootstrap> sub = ranks.all(2, r -> group.get(r).subgroup("s", List.of(0, 1)));
        kill(group.get(2));
        Guard.until("known", () -> group.get(0).state(2) == MemberState.LOST);
        assertThat(ranks.all(2, r -> gather(sub.get(r), "t", "x"))).hasSize(2);
    }

    @Test
    void aSubgroupMadeAfterADeathKnowsOfIt() {
        List<Bootstrap> group = group(3);
        kill(group.get(2));
        Guard.until("known", () -> group.get(0).state(2) == MemberState.LOST);
        Bootstrap sub = group.get(0).subgroup("s", List.of(2, 0));
        assertThat(sub.state(0)).isEqualTo(MemberState.LOST);
        assertThat(lost(sub, "t").failure().peer()).isZero();
    }

    @Test
    void closingASubgroupIsSeenInItAndNowhereElse() {
        List<Bootstrap> group = group(2);
        List<Bootstrap> sub = ranks.all(2, r -> group.get(r).subgroup("s", List.of(0, 1)));
        sub.get(0).close();
        sub.get(0).close();
        Guard.until("seen", () -> sub.get(1).state(0) == MemberState.LEFT);
        assertThat(group.get(1).state(0)).isEqualTo(MemberState.ALIVE);
        assertThat(lost(sub.get(1), "t")).hasMessageContaining("rank 0 has left");
        assertThatThrownBy(() -> sub.get(0).barrier("t", LONG))
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("subgroup s is closed");
        assertThat(ranks.all(2, r -> gather(group.get(r), "t", "x"))).hasSize(2);
    }

    @Test
    void aSubgroupLeftBeforeAnotherMemberMadeItIsSeenAsLeft() {
        List<Bootstrap> group = group(2);
        group.get(0).subgroup("s", List.of(0, 1)).close();
        ranks.all(2, r -> gather(group.get(r), "order", "x"));
        Bootstrap late = group.get(1).subgroup("s", List.of(0, 1));
        Guard.until("seen", () -> late.state(0) == MemberState.LEFT);
    }

    @Test
    void closingTheGroupClosesItsSubgroups() {
        List<Bootstrap> group = group(2);
        List<Bootstrap> sub = ranks.all(2, r -> group.get(r).subgroup("s", List.of(0, 1)));
        CompletableFuture<EpStateException> waiting = ranks.start(() ->
                catchThrowableOfType(EpStateException.class, () -> sub.get(0).barrier("t", LONG)));
        pause(50);
        group.get(0).close();
        assertThat(Ranks.get(waiting)).hasMessageContaining("closed");
        Guard.until("seen", () -> sub.get(1).state(0) == MemberState.LEFT);
    }

    @Test
    void differentRanksForASubgroupAreReportedToItsMembers() {
        List<Bootstrap> group = group(3);
        Bootstrap first = group.get(0).subgroup("s", List.of(0, 1));
        CompletableFuture<EpMismatchException> waiting =
                ranks.start(() -> catchThrowableOfType(EpMismatchException.class, () -> first.barrier("t", LONG)));
        ranks.all(3, r -> gather(group.get(r), "order", "x"));
        Bootstrap second = group.get(1).subgroup("s", List.of(1, 0));
        assertThatThrownBy(() -> second.barrier("t", LONG))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining("[1, 0]")
                .hasMessageContaining("[0, 1]");
        assertThat(Ranks.get(waiting)).hasMessageContaining("[1, 0]");
    }

    @Test
    void aSubgroupWithForeignRepeatedOrNoOwnRankIsRefused() {
        List<Bootstrap> group = group(3);
        for (List<Integer> bad :
                List.of(List.of(0, 3), List.of(0, -1), List.of(0, 0), List.of(1, 2), List.<Integer>of())) {
            assertThatThrownBy(() -> group.get(0).subgroup("bad", bad))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining(bad.toString());
        }
        group.get(0).subgroup("s", List.of(0));
        assertThatThrownBy(() -> group.get(0).subgroup("s", List.of(0)))
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("exists already");
    }

    static List<String> gather(Bootstrap member, String tag, String mine) {
        return member.allGather(tag, mine.getBytes(UTF_8), LONG).stream()
                .map(bytes -> new String(bytes, UTF_8))
                .toList();
    }

    /** Gathers without the others, in no time: it contributes, gives up, and is answered who is missing. */
    private static EpTimeoutException timeout(Bootstrap member, String tag) {
        return catchThrowableOfType(EpTimeoutException.class, () -> member.allGather(tag, new byte[0], Duration.ZERO));
    }

    /** Waits until a member waits for the others, so that its part is on the way. */
    private static void awaitWaiting(AtomicReference<Thread> waiter) {
        Guard.until("it waits", () -> {
            Thread thread = waiter.get();
            return thread != null && thread.getState() == Thread.State.TIMED_WAITING;
        });
    }

    private static EpPeerLostException lost(Bootstrap member, String tag) {
        return catchThrowableOfType(EpPeerLostException.class, () -> member.allGather(tag, new byte[0], LONG));
    }

    static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
