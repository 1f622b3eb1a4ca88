package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.Recovery;
import org.ep4j.engine.Engine;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.membership.BufferMembership;
import org.ep4j.engine.membership.ControlSlots;
import org.ep4j.engine.membership.LivenessLocks;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** What a recovery reports, and what memory it holds, when the steps of a move succeed on some ranks and fail on others. */
@Tag("verify")
@EnabledOnOs(OS.LINUX)
final class RecovererTest {
    private static final int RANKS = 3;

    @TempDir
    private Path folder;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final BufferLayout layout =
            new BufferLayout(EpShape.builder(64, 4, 2).maxTokens(4).build(), RANKS, true, 0);
    private final HostDevice device = new HostDevice();
    private final List<Bootstrap> bootstraps = Bootstrap.inProcess(RANKS);
    private final List<Rank> ranks = new ArrayList<>();
    private List<LivenessLocks> locks = List.of();

    /** Allocates memory of this rank alone and counts how much of it there is at a time. */
    private final class CountedMemory implements Recoverer.FreshMemory {
        private final int rank;
        private final Deque<DeviceAllocation> memories = new ArrayDeque<>();
        private int most;

        CountedMemory(int rank) {
            this.rank = rank;
            memories.push(device.allocate(layout.bytes()));
        }

        @Override
        public SymmetricMemory allocate(
                Bootstrap members,
                List<Integer> in,
                long epoch,
                Duration longest,
                Function<SymmetricMemory, Runnable> preparation) {
            members.barrier("make", longest);
            DeviceAllocation fresh = device.allocate(layout.bytes());
            memories.push(fresh);
            most = Math.max(most, memories.size());
            Map<Integer, DeviceMemory> mapped = new TreeMap<>();
            in.forEach(r -> {
                if (r != rank) {
                    mapped.put(r, fresh.memory());
                }
            });
            return new SymmetricMemory(rank, fresh.memory(), mapped, Map.of(), Map.of());
        }

        @Override
        public void dropNewest() {
            memories.pop().close();
        }

        @Override
        public void freeOlder() {
            while (memories.size() > 1) {
                memories.removeLast().close();
            }
        }

        void close() {
            memories.forEach(DeviceAllocation::close);
        }
    }

    /** One rank of the buffer. */
    private final class Rank {
        private final AtomicLong later = new AtomicLong();
        private final CountedMemory memory;
        private final Recoverer recoverer;
        /** A thread uses the memory from before. */
        private boolean isUsed;

        /** Called before the last step of a move. */
        private Runnable beforeNumbers = () -> {};

        Rank(int rank, List<HostMemory> control) {
            memory = new CountedMemory(rank);
            DeviceMemory local = memory.memories.element().memory();
            Map<Integer, DeviceMemory> mapped = new TreeMap<>();
            Map<Integer, HostMemory> others = new TreeMap<>();
            IntStream.range(0, RANKS).filter(r -> r != rank).forEach(r -> {
                mapped.put(r, local);
                others.put(r, control.get(r));
            });
            Peers<HostMemory> peers = new Peers<>(
                    RelaysTest.plan(List.of(0, 1, 2)),
                    layout,
                    new SymmetricMemory(rank, local, mapped, Map.of(), Map.of()),
                    HostMemory::of,
                    Deadline.in(Guard.minute()));
            BufferMembership membership = new BufferMembership(
                    1,
                    new ControlSlots.Memory(control.get(rank), others, Map.of()),
                    locks.get(rank),
                    bootstraps.get(rank),
                    () -> System.nanoTime() + later.get(),
                    new BufferMembership.SilenceLimit(Duration.ofDays(1), false),
                    UnaryOperator.identity());
            Recoverer.Numbers numbers = new Recoverer.Numbers() {
                @Override
                public long[] begun() {
                    beforeNumbers.run();
                    return new long[3];
                }

                @Override
                public void restart(long highThroughput, long dispatch, long combine) {}

                @Override
                public boolean freed() {
                    return !isUsed;
                }
            };
            recoverer = new Recoverer(
                    numbers,
                    peers,
                    new Waits(peers, bootstraps.get(rank), RANKS),
                    bootstraps.get(rank),
                    new Recoverer.Recoverability(Optional.of(new Recoverer.Resources(membership, memory)), ""));
        }

        CompletableFuture<Recovery> recover(long completed) {
            return CompletableFuture.supplyAsync(
                    () -> recoverer.recover(completed, Deadline.in(Guard.minute())), threads);
        }
    }

    @BeforeEach
    void start() {
        List<HostMemory> control = IntStream.range(0, RANKS)
                .mapToObj(r -> HostMemory.of(ByteBuffer.allocateDirect((int) BufferMembership.bytes(RANKS))))
                .toList();
        locks = IntStream.range(0, RANKS)
                .mapToObj(r -> LivenessLocks.create("host", List.of(folder), true))
                .toList();
        List<byte[]> announcements =
                locks.stream().map(LivenessLocks::announcement).toList();
        for (int r = 0; r < RANKS; r++) {
            locks.get(r).open(r, announcements);
            ranks.add(new Rank(r, control));
        }
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        locks.forEach(LivenessLocks::close);
        ranks.forEach(rank -> rank.memory.close());
        bootstraps.forEach(Bootstrap::close);
    }

    private static Recovery end(CompletableFuture<Recovery> recovery) throws Exception {
        return recovery.get(Guard.minute().toNanos(), TimeUnit.NANOSECONDS);
    }

    @Test
    void reportsOperationsSinceTheLastRecovery() throws Exception {
        var first = List.of(
                ranks.get(0).recover(6), ranks.get(1).recover(5), ranks.get(2).recover(6));
        for (CompletableFuture<Recovery> one : first) {
            assertThat(end(one)).isEqualTo(Recovery.of(Set.of(), Map.of(0, 6L, 1, 5L, 2, 6L)));
        }
        var second = List.of(
                ranks.get(0).recover(2), ranks.get(1).recover(3), ranks.get(2).recover(2));
        for (CompletableFuture<Recovery> one : second) {
            assertThat(end(one)).isEqualTo(Recovery.of(Set.of(), Map.of(0, 2L, 1, 3L, 2, 2L)));
        }
    }

    @Test
    void reportsOperationsOfTheRanksThatAreLeftWhenTheFirstOneIsLost() throws Exception {
        new Engine().declareDead(bootstraps.get(0), "lost in a test");
        var both = List.of(ranks.get(1).recover(4), ranks.get(2).recover(5));
        for (CompletableFuture<Recovery> one : both) {
            assertThat(end(one)).isEqualTo(Recovery.of(Set.of(0), Map.of(1, 4L, 2, 5L)));
        }
    }

    @Test
    void holdsTwoMemoriesAtMost() throws Exception {
        for (int round = 0; round < 4; round++) {
            for (CompletableFuture<Recovery> one :
                    ranks.stream().map(rank -> rank.recover(0)).toList()) {
                end(one);
            }
        }
        assertThat(ranks).allSatisfy(rank -> {
            assertThat(rank.memory.most).isEqualTo(2);
            assertThat(rank.memory.memories).hasSize(2);
        });
    }

    @Test
    void keepsMemoryThatAThreadStillUses() throws Exception {
        ranks.get(1).isUsed = true;
        for (int round = 0; round < 3; round++) {
            for (CompletableFuture<Recovery> one :
                    ranks.stream().map(rank -> rank.recover(0)).toList()) {
                end(one);
            }
            ranks.get(1).isUsed = round == 0;
        }
        assertThat(ranks.get(0).memory.most).isEqualTo(2);
        assertThat(ranks.get(1).memory.most).isEqualTo(3);
        assertThat(ranks.get(1).memory.memories)
                .as("after the thread has ended")
                .hasSize(2);
    }

    /** Rank 1 leaves the last step of the move, which ends well on ranks 0 and 2. No rank may then see others as behind. */
    @Test
    void ranksAreLevelAfterAMoveThatEndedOnSomeOnly() throws Exception {
        CountDownLatch left = new CountDownLatch(1);
        ranks.get(1).beforeNumbers = () -> Thread.currentThread().interrupt();
        ranks.get(2).beforeNumbers = () -> Guard.await(left);
        CompletableFuture<Recovery> zero = ranks.get(0).recover(10);
        CompletableFuture<Recovery> one = ranks.get(1).recover(10);
        CompletableFuture<Recovery> two = ranks.get(2).recover(10);
        assertThatThrownBy(() -> end(one))
                .hasMessageContaining("interrupted during recover")
                .cause()
                .isInstanceOfSatisfying(
                        EpStateException.class, e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.RECOVER));
        assertThat(ranks.get(1).memory.memories).as("memories of rank 1").hasSize(1);
        left.countDown();
        assertThat(end(zero)).isEqualTo(Recovery.of(Set.of(), Map.of(0, 10L, 1, 10L, 2, 10L)));
        assertThat(end(two)).isEqualTo(end(zero));

        ranks.get(1).beforeNumbers = () -> {};
        var again = List.of(
                ranks.get(0).recover(0), ranks.get(1).recover(10), ranks.get(2).recover(0));
        assertThat(end(again.get(0))).isEqualTo(Recovery.of(Set.of(), Map.of(0, 0L, 1, 0L, 2, 0L)));
        assertThat(end(again.get(2))).isEqualTo(end(again.get(0)));
        assertThat(end(again.get(1))).isEqualTo(Recovery.of(Set.of(), Map.of(0, 10L, 1, 10L, 2, 10L)));
    }

    /** Rank 0 has gone back to the number of rank 2, which dies before rank 1 has that number. */
    @Test
    void ranksGoBackToTheNumberOfARankThatDiedMeanwhile() throws Exception {
        CountDownLatch left = new CountDownLatch(1);
        ranks.get(1).beforeNumbers = () -> Thread.currentThread().interrupt();
        ranks.get(2).beforeNumbers = () -> Guard.await(left);
        CompletableFuture<Recovery> zero = ranks.get(0).recover(10);
        CompletableFuture<Recovery> one = ranks.get(1).recover(11);
        CompletableFuture<Recovery> two = ranks.get(2).recover(4);
        assertThatThrownBy(() -> end(one)).hasCauseInstanceOf(EpStateException.class);
        left.countDown();
        assertThat(end(zero)).isEqualTo(Recovery.of(Set.of(), Map.of(0, 10L, 1, 11L, 2, 4L)));
        assertThat(end(two)).isEqualTo(end(zero));
        new Engine().declareDead(bootstraps.get(2), "lost in a test");

        ranks.get(1).beforeNumbers = () -> {};
        var again = List.of(ranks.get(0).recover(0), ranks.get(1).recover(11));
        assertThat(end(again.get(0))).as("from operation 4 on").isEqualTo(Recovery.of(Set.of(2), Map.of(0, 0L, 1, 7L)));
        assertThat(end(again.get(1)))
                .as("from operation 0 on")
                .isEqualTo(Recovery.of(Set.of(2), Map.of(0, 4L, 1, 11L)));
    }

    @Test
    void namesTheRankThatIsMissingInTheLastStep() throws Exception {
        new Engine().declareDead(bootstraps.get(0), "lost in a test");
        CountDownLatch ended = new CountDownLatch(1);
        ranks.get(1).beforeNumbers =
                () -> ranks.get(1).later.set(2 * Guard.minute().toNanos());
        ranks.get(2).beforeNumbers = () -> Guard.await(ended);
        CompletableFuture<Recovery> two = ranks.get(2).recover(0);
        assertThatThrownBy(() -> end(ranks.get(1).recover(0)))
                .cause()
                .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                    assertThat(e.failure().peer()).isEqualTo(2);
                    assertThat(e.failure().path()).map(EpPath::to).hasValue(2);
                    assertThat(e)
                            .hasMessageContaining("rank 2 did not take part in \"numbers\"")
                            .hasCauseInstanceOf(EpTimeoutException.class);
                });
        ended.countDown();
        assertThat(end(two).masked()).containsExactly(0);
    }
}
