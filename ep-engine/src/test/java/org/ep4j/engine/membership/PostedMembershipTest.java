package org.ep4j.engine.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpNoMajorityException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.Engine;
import org.ep4j.spi.HostPosted;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Ranks of several hosts, which post to each other, agree on memberships. Nothing proves that one of them is dead. */
@Tag("verify")
@EnabledOnOs(OS.LINUX)
final class PostedMembershipTest {
    private static final Duration BRIEF = Duration.ofMillis(300);
    private static final Duration SILENCE = Duration.ofMinutes(10);
    private static final Duration LONGEST = Duration.ofDays(1);

    @TempDir
    private Path folder;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final AtomicLong later = new AtomicLong();
    private final AtomicLongArray polls = new AtomicLongArray(5);
    private final Set<Integer> stopped = ConcurrentHashMap.newKeySet();
    private final Set<Integer> cut = ConcurrentHashMap.newKeySet();
    /** By rank: posts to it. */
    private final AtomicLongArray posts = new AtomicLongArray(5);

    private List<HostMemory> memory = List.of();
    private List<Bootstrap> bootstraps = List.of();
    private List<LivenessLocks> locks = List.of();
    private final List<BufferMembership> memberships = new ArrayList<>();
    private final List<Posts> postings = new ArrayList<>();

    /** The posts of one rank, which arrive some time after they were made and are read from memory only then. */
    private final class Posts implements HostPosted {
        private final int self;
        private final Map<Integer, List<Runnable>> inFlight = new HashMap<>();

        Posts(int self) {
            this.self = self;
        }

        private void checkReachable(int peer) {
            if (cut.contains(peer) || cut.contains(self)) {
                throw new EpPeerLostException(
                        "rank " + peer + " cannot be reached",
                        EpFailure.builder("post", peer).build());
            }
        }

        @Override
        public synchronized void put(int peer, long targetOffset, long sourceOffset, long bytes) {
            checkReachable(peer);
            PostedMembershipTest.this.posts.incrementAndGet(peer);
            List<Runnable> posts = inFlight.computeIfAbsent(peer, p -> new ArrayList<>());
            posts.add(() -> memory.get(peer).copy(targetOffset, memory.get(self), sourceOffset, bytes));
            assertThat(posts).as("one for each slot").hasSizeLessThanOrEqualTo(3);
        }

        @Override
        public void signal(int peer, int counter, long value) {
            checkReachable(peer);
            if (!stopped.contains(peer)) {
                threads.execute(() -> {
                    LockSupport.parkNanos(ThreadLocalRandom.current().nextInt(500_000));
                    deliver(peer);
                });
            }
        }

        private synchronized void deliver(int peer) {
            inFlight.getOrDefault(peer, List.of()).forEach(Runnable::run);
            inFlight.remove(peer);
        }

        @Override
        public synchronized void flush(int peer, long deadlineNanos) {
            checkReachable(peer);
            if (inFlight.containsKey(peer)) {
                throw new EpTimeoutException(
                        "rank " + peer + " has not taken all",
                        EpFailure.builder("drain", peer).expected(1).build());
            }
        }

        @Override
        public long counter(int counter, int source) {
            throw new UnsupportedOperationException();
        }
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        locks.forEach(LivenessLocks::close);
        bootstraps.forEach(Bootstrap::close);
    }

    private void start(int ranks, boolean alone) {
        start(ranks, alone, true);
    }

    private void start(int ranks, boolean alone, boolean lossIsProof) {
        bootstraps = Bootstrap.inProcess(ranks);
        memory = Stream.generate(() -> ControlSlotsTest.newMemory(ranks))
                .limit(ranks)
                .toList();
        locks = Stream.generate(() -> LivenessLocks.create("host", List.of(folder), lossIsProof))
                .limit(ranks)
                .toList();
        for (int r = 0; r < ranks; r++) {
            int self = r;
            Posts posts = new Posts(r);
            postings.add(posts);
            Map<Integer, HostPosted> others = new HashMap<>();
            for (int other = 0; other < ranks; other++) {
                if (other != r) {
                    others.put(other, posts);
                }
            }
            memberships.add(new BufferMembership(
                    1,
                    new ControlSlots.Memory(memory.get(r), Map.of(), others),
                    locks.get(r),
                    bootstraps.get(r),
                    () -> {
                        polls.incrementAndGet(self);
                        return System.nanoTime() + later.get();
                    },
                    new BufferMembership.SilenceLimit(SILENCE, alone),
                    UnaryOperator.identity()));
        }
    }

    /** Waits until each of these ranks has read the clock {@code count} times or has recovered. */
    private void awaitPolls(int count, Map<Integer, CompletableFuture<List<Integer>>> recovering) {
        long[] before = new long[memberships.size()];
        for (int r = 0; r < before.length; r++) {
            before[r] = polls.get(r);
        }
        Guard.until(
                "ranks have polled or recovered",
                () -> recovering.entrySet().stream()
                        .allMatch(one ->
                                one.getValue().isDone() || polls.get(one.getKey()) - before[one.getKey()] >= count));
    }

    /** Advances the clock past the time after which a silent rank counts as lost; those that recover send something from time to time. */
    private void passSilence(Map<Integer, CompletableFuture<List<Integer>>> recovering) {
        for (int i = 0; i < 12; i++) {
            later.addAndGet(SILENCE.toNanos() / 10);
            awaitPolls(100, recovering);
        }
    }

    /** Ranks that have all that they need agree long before they have polled so often; the deadline ends the others, which report why. */
    private void requireRecovered(Map<Integer, CompletableFuture<List<Integer>>> recovering, Integer... members)
            throws Exception {
        awaitPolls((int) (100_000 * Guard.minute().toMinutes()), recovering);
        if (!recovering.values().stream().allMatch(CompletableFuture::isDone)) {
            later.addAndGet(LONGEST.plus(LONGEST).toNanos());
        }
        for (CompletableFuture<List<Integer>> one : recovering.values()) {
            assertThat(one.get(Guard.minute().toMillis(), TimeUnit.MILLISECONDS))
                    .containsExactly(members);
        }
    }

    private Map<Integer, CompletableFuture<List<Integer>>> recovering(Integer... ranks) {
        return Stream.of(ranks).collect(Collectors.toMap(r -> r, r -> recovering(r, LONGEST)));
    }

    private void lose(int rank) {
        new Engine().declareDead(bootstraps.get(rank), "lost in a test");
    }

    private CompletableFuture<List<Integer>> recovering(int rank, Duration longest) {
        return CompletableFuture.supplyAsync(
                () -> memberships
                        .get(rank)
                        .recover(
                                Set.of(),
                                System.nanoTime() + later.get() + longest.toNanos(),
                                longest.toMillis(),
                                () -> {},
                                (members, ranks, epoch) -> {
                                    members.barrier("first", LONGEST);
                                    members.barrier("second", LONGEST);
                                    return ranks;
                                }),
                threads);
    }

    private void continueWithout(int gone, Integer... ranks) throws Exception {
        for (CompletableFuture<List<Integer>> one : recovering(ranks).values()) {
            assertThat(one.get(Guard.minute().toMillis(), TimeUnit.MILLISECONDS))
                    .containsExactly(ranks)
                    .doesNotContain(gone);
        }
    }

    @Test
    void ranksContinueWithoutOneThatIsLost() throws Exception {
        start(3, false);
        lose(2);
        continueWithout(2, 0, 1);
        lose(1);
        assertThatThrownBy(() -> recovering(0, BRIEF).get()).hasCauseInstanceOf(EpNoMajorityException.class);
    }

    @Test
    void doesNotWaitForARankThatTakesNothing() throws Exception {
        start(4, false);
        stopped.add(1);
        lose(1);
        continueWithout(1, 0, 2, 3);
    }

    @Test
    void ranksContinueWithoutOneThatTheyCannotReach() throws Exception {
        start(3, false);
        cut.add(1);
        continueWithout(1, 0, 2);
    }

    @Test
    void givesUpASilentRankOnceTheRendezvousIsLost() throws Exception {
        start(5, false);
        lose(0);
        Map<Integer, CompletableFuture<List<Integer>>> all = recovering(2, 3, 4);
        assertThatThrownBy(() -> all.get(2).get(BRIEF.toMillis(), TimeUnit.MILLISECONDS))
                .as("rank 1 may be in an operation")
                .isInstanceOf(TimeoutException.class);
        passSilence(all);
        requireRecovered(all, 2, 3, 4);
    }

    @Test
    void givesUpARankThatHasSentNothingSinceAnEarlierRecovery() throws Exception {
        start(5, false);
        for (CompletableFuture<List<Integer>> one : recovering(0, 1, 2, 3, 4).values()) {
            assertThat(one.get(Guard.minute().toMillis(), TimeUnit.MILLISECONDS))
                    .hasSize(5);
        }
        lose(0);
        Map<Integer, CompletableFuture<List<Integer>>> all = recovering(2, 3, 4);
        passSilence(all);
        requireRecovered(all, 2, 3, 4);
    }

    @Test
    void waitsForASilentRankAsLongAsTheRendezvousLives() throws Exception {
        start(3, false);
        Map<Integer, CompletableFuture<List<Integer>>> all = recovering(0, 1);
        passSilence(all);
        assertThat(all.values()).noneMatch(CompletableFuture::isDone);
        all.putAll(recovering(2));
        for (CompletableFuture<List<Integer>> one : all.values()) {
            assertThat(one.get(Guard.minute().toMillis(), TimeUnit.MILLISECONDS))
                    .containsExactly(0, 1, 2);
        }
    }

    /** A rank that calls recover again and again, with deadlines before the others count as silent. */
    @Test
    void silenceCountsFromTheFirstOfSeveralCalls() throws Exception {
        start(3, false);
        lose(0);
        stopped.add(0);
        for (int i = 0; i < 12; i++) {
            CompletableFuture<List<Integer>> alone = recovering(1, SILENCE.dividedBy(20));
            awaitPolls(100, Map.of(1, alone));
            later.addAndGet(SILENCE.toNanos() / 10);
            assertThatThrownBy(alone::get).hasCauseInstanceOf(EpException.class);
        }
        assertThatThrownBy(() -> recovering(1, BRIEF).get())
                .as("rank 2 has been silent for long enough, and the two are not more than half")
                .hasCauseInstanceOf(EpNoMajorityException.class)
                .hasMessageContaining("2 (silent for the heartbeat timeout");
    }

    @Test
    void silenceCountsAlsoIfTheRendezvousHasLeft() throws Exception {
        start(5, false);
        bootstraps.get(0).close();
        Map<Integer, CompletableFuture<List<Integer>>> all = recovering(2, 3, 4);
        passSilence(all);
        requireRecovered(all, 2, 3, 4);
    }

    @Test
    void aRankThatTookNothingIsNotifiedLater() throws Exception {
        start(4, false);
        stopped.add(1);
        lose(1);
        continueWithout(1, 0, 2, 3);
        assertThat(memberships.get(1).isLeftOut()).isFalse();
        stopped.remove(1);
        postings.forEach(posts -> posts.deliver(1));
        continueWithout(1, 0, 2, 3);
        Guard.until(
                "rank 1 knows that it was left out", () -> memberships.get(1).isLeftOut());
    }

    /** It may have closed the buffer, so a post would break the connection. */
    @Test
    void postsNothingMoreToARankThatKnowsItWasLeftOut() throws Exception {
        start(3, false);
        lose(2);
        continueWithout(2, 0, 1);
        // What found no room is posted by the next recovery.
        long before = -1;
        for (int i = 0; i < 5 && posts.get(2) != before; i++) {
            before = posts.get(2);
            postings.forEach(one -> one.deliver(2));
            continueWithout(2, 0, 1);
        }
        assertThat(posts.get(2)).isPositive().isEqualTo(before);
        assertThat(memberships.get(2).isLeftOut()).isTrue();
    }

    @Test
    void aRankToWhichNothingCanBePostedLearnsFromItsHostThatItWasLeftOut() throws Exception {
        start(3, false);
        openLocks();
        stopped.add(2);
        lose(2);
        continueWithout(2, 0, 1);
        Guard.until(
                "rank 2 knows that it was left out", () -> memberships.get(2).isLeftOut());
        assertThatThrownBy(() -> recovering(2, LONGEST).get(Guard.minute().toMillis(), TimeUnit.MILLISECONDS))
                .hasCauseInstanceOf(EpPeerLostException.class)
                .hasMessageContaining("have left this rank (2) out");
    }

    private void openLocks() {
        List<byte[]> announcements =
                locks.stream().map(LivenessLocks::announcement).toList();
        for (int r = 0; r < locks.size(); r++) {
            locks.get(r).open(r, announcements);
        }
    }

    /** Losses are proofs among threads; that one cannot be reached is none. */
    @Test
    void ofTwoRanksThatCannotReachEachOtherNeitherContinues() {
        start(2, false);
        openLocks();
        cut.add(1);
        List<CompletableFuture<List<Integer>>> both =
                Stream.of(0, 1).map(r -> recovering(r, BRIEF)).toList();
        for (CompletableFuture<List<Integer>> one : both) {
            assertThatThrownBy(one::get).hasCauseInstanceOf(EpNoMajorityException.class);
        }
    }

    @Test
    void aRankMayContinueAloneIfTheUserVouchesForIt() throws Exception {
        start(2, true);
        lose(1);
        continueWithout(1, 0);
    }

    /** The process of a rank that is only stopped keeps its lock. */
    @Test
    void doesNotContinueAloneWhileALockShowsThatTheOtherRankLives() {
        start(2, true, false);
        openLocks();
        lose(1);
        assertThatThrownBy(() -> recovering(0, BRIEF).get()).hasCauseInstanceOf(EpNoMajorityException.class);
    }
}
