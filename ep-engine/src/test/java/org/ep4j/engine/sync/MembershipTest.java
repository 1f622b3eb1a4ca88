package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.EpTimeoutException;
import org.ep4j.Recovery;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks as threads that map each other's memory, some of which die, stop and come back, or are cut off from others. */
@Timeout(120)
final class MembershipTest {
    private static final Duration DEADLINE = Duration.ofSeconds(20);

    private final List<Rank> ranks = new ArrayList<>();
    private final Map<Integer, MemorySpace> generations = new TreeMap<>();

    @AfterEach
    void free() {
        generations.values().forEach(MemorySpace::close);
    }

    @Test
    void survivorsOfAProvedDeathKeepTheirMemory() {
        form(3);
        die(0);
        Map<Integer, Object> ends = recover(1, 2);
        assertThat(ends.get(1)).isEqualTo(ends.get(2));
        assertThat(((Recovery) ends.get(1)).masked()).containsExactly(0);
        assertThat(ranks.get(1).generation).isEqualTo(0);
        assertThat(ranks.get(2).generation).isEqualTo(0);
    }

    @Test
    void survivorsOfARankThatMayComeBackMoveToFreshMemory() {
        form(3);
        stop(2);
        Map<Integer, Object> ends = recover(0, 1);
        assertThat(((Recovery) ends.get(0)).masked()).containsExactly(2);
        assertThat(ranks.get(0).generation).isPositive().isEqualTo(ranks.get(1).generation);
        assertThat(generations.get(ranks.get(0).generation).members).containsExactly(0, 1);
        comeBack(2);
        assertExpelled(recover(2).get(2), 2);
    }

    @Test
    void survivorsKeepTheirMemoryWhenARankLeavesAndMoveWhenItsKernelsMayStillRun() {
        form(4);
        ranks.get(3).left.set(true);
        assertThat(((Recovery) recover(0, 1, 2).get(0)).masked()).containsExactly(3);
        assertThat(ranks.get(0).generation).isZero();
        ranks.get(2).lockKept.set(true);
        ranks.get(2).left.set(true);
        assertThat(((Recovery) recover(0, 1).get(0)).masked()).containsExactlyInAnyOrder(2, 3);
        assertThat(ranks.get(0).generation).isPositive().isEqualTo(ranks.get(1).generation);
    }

    @Test
    void anExpelledRankFindsOutBeforeItReturnsAResult() {
        form(3);
        stop(1);
        recover(0, 2);
        // It has heard of nothing yet: its bootstrap still calls everybody alive.
        assertExpelled(caught(() -> ranks.get(1).waits.requireMember("combine")), 1);
    }

    @Test
    void allRanksButOneMayDieTogetherWhenProved() {
        form(5);
        List.of(0, 1, 3, 4).forEach(this::die);
        assertThat(((Recovery) recover(2).get(2)).masked()).containsExactlyInAnyOrder(0, 1, 3, 4);
    }

    @Test
    void aMinorityGivesUpWhenNothingIsProved() {
        form(5);
        List.of(2, 3, 4).forEach(this::stop);
        Map<Integer, Object> ends = recover(Duration.ofSeconds(1), 0, 1);
        assertExpelled(ends.get(0), 0);
        assertExpelled(ends.get(1), 1);
    }

    @Test
    void aRankThatIsLeftAloneGivesUpAtItsDeadline() {
        form(3);
        stop(0);
        stop(1);
        assertExpelled(recover(Duration.ofMillis(500), 2).get(2), 2);
    }

    @Test
    void halfOfTheMembersGoesOnOnlyWithTheLowestRank() {
        form(4);
        hold(0, 2, 3);
        hold(1, 2, 3);
        hold(2, 0, 1);
        hold(3, 0, 1);
        Map<Integer, Object> ends = recover(Duration.ofSeconds(2), 0, 1, 2, 3);
        assertThat(((Recovery) ends.get(0)).masked()).containsExactlyInAnyOrder(2, 3);
        assertThat(ends.get(1)).isEqualTo(ends.get(0));
        assertExpelled(ends.get(2), 2);
        assertExpelled(ends.get(3), 3);
    }

    @Test
    void theLastAgreedMembershipIsWhatCounts() {
        form(5);
        stop(3);
        stop(4);
        recover(0, 1, 2);
        // Two of three, though two of the first five.
        stop(0);
        Map<Integer, Object> ends = recover(1, 2);
        assertThat(((Recovery) ends.get(1)).masked()).containsExactlyInAnyOrder(0, 3, 4);
        comeBack(3);
        comeBack(4);
        comeBack(0);
        for (int late : new int[] {0, 3, 4}) {
            assertExpelled(recover(Duration.ofSeconds(1), late).get(late), late);
        }
    }

    @Test
    void aRankThatHasNotAdoptedTheLastMembershipCountsByThatOfTheOthers() {
        form(5);
        stop(3);
        stop(4);
        ranks.get(1).failMoves.set(1);
        Map<Integer, Object> ends = recover(0, 1, 2);
        assertThat(ends.get(0)).isEqualTo(ends.get(2)).isInstanceOf(Recovery.class);
        assertThat(ends.get(1)).isInstanceOf(EpException.class);
        // Two of the three that were agreed on last, though rank 1 knows of five.
        stop(2);
        ends = recover(0, 1);
        assertThat(ends.get(0)).isEqualTo(ends.get(1)).isInstanceOf(Recovery.class);
        assertThat(((Recovery) ends.get(0)).masked()).containsExactlyInAnyOrder(2, 3, 4);
    }

    @Test
    void aLossThatWasPublishedIsNotTakenBack() {
        form(3);
        hold(0, 2);
        assertThat(recover(Duration.ofMillis(200), 0).get(0)).isInstanceOf(EpTimeoutException.class);
        ranks.get(0).held[2].set(false);
        Map<Integer, Object> ends = recover(0, 1, 2);
        assertThat(((Recovery) ends.get(0)).masked()).containsExactly(2);
        assertThat(ends.get(1)).isEqualTo(ends.get(0));
        assertExpelled(ends.get(2), 2);
    }

    @Test
    void allMoveWhenOneOfThemIsNotSafeFromAMaskedRank() {
        form(3);
        ranks.get(1).begun[0] = 4;
        List.of(0, 1).forEach(r -> ranks.get(r).recoverer.mask(2));
        Map<Integer, Object> ends = each(List.of(0, 1), r -> r.recoverer.fence(Deadline.in(DEADLINE)));
        assertThat(ends.values()).containsOnly(true);
        assertThat(ranks.get(0).generation).isPositive().isEqualTo(ranks.get(1).generation);
    }

    /** Blocks of every second round lie in the same place, so one that is ahead has left an older one where the next is due. */
    @Test
    void aBlockOfAnotherRoundIsNotTakenForThatOfThisOne() throws Exception {
        form(2);
        assertThat(recover(0, 1).values()).hasOnlyElementsOfType(Recovery.class);
        Peers<HostMemory> ahead = ranks.get(1).peers;
        long last = ahead.seen(Counter.RECOVER, 0);
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try {
            Future<Object> end = thread.submit(() ->
                    caught(() -> ranks.get(0).recoverer.recover(0, Deadline.in(Duration.ofSeconds(1)))));
            while (ahead.seen(Counter.RECOVER, 0) <= last) {
                Thread.onSpinWait();
            }
            // Nobody is lost, and all are members.
            ahead.writeBlock(
                    0, Block.RECOVER, last + 3, new long[] {last + 3, 0, 0, 0, 0, 0, last, 1}, new int[] {4, 4});
            ahead.advance(0, Counter.RECOVER, last + 3);
            assertThat(end.get()).isInstanceOf(EpTimeoutException.class);
        } finally {
            thread.shutdownNow();
        }
    }

    @Test
    void aRankWhoseRecoveryRanIntoItsDeadlineJoinsTheOthersAtTheirRound() {
        form(3);
        stop(2);
        // Rank 1 does not come for a while: rank 0 gives up, and begins again, several times.
        for (int i = 0; i < 3; i++) {
            assertThat(recover(Duration.ofMillis(200), 0).get(0)).isInstanceOf(EpTimeoutException.class);
        }
        Map<Integer, Object> ends = recover(0, 1);
        assertThat(ends.get(0)).isEqualTo(ends.get(1)).isInstanceOf(Recovery.class);
    }

    @Test
    void aRankThatCouldNotMoveBringsTheOthersBack() {
        form(3);
        stop(2);
        ranks.get(1).failMoves.set(1);
        Map<Integer, Object> ends = recover(0, 1);
        assertThat(ends.get(0)).isInstanceOf(Recovery.class);
        assertThat(ends.get(1)).isInstanceOf(EpException.class);
        // Rank 0 is in fresh memory alone; rank 1 tries again where it was.
        ends = recover(0, 1);
        assertThat(ends.get(0)).isEqualTo(ends.get(1)).isInstanceOf(Recovery.class);
        assertThat(ranks.get(0).generation).isPositive().isEqualTo(ranks.get(1).generation);
    }

    @Test
    void aMaskedRankThatIsNotDoneIsLeftBehindBeforeTheNextDispatch() {
        form(3);
        ranks.forEach(r -> r.begun[0] = 4);
        List.of(0, 1).forEach(r -> ranks.get(r).recoverer.mask(2));
        Map<Integer, Object> ends = each(List.of(0, 1), r -> r.recoverer.fence(Deadline.in(DEADLINE)));
        assertThat(ends.values()).containsOnly(true);
        assertThat(ranks.get(0).generation).isPositive().isEqualTo(ranks.get(1).generation);
        assertThat(ranks.get(0).recoverer.isFenceDue()).isFalse();
        assertExpelled(caught(() -> ranks.get(2).waits.requireMember("dispatch")), 2);
    }

    @Test
    void aMaskedRankThatMayStillCombineWhatItGotIsLeftBehind() {
        form(3);
        ranks.forEach(r -> r.begun[1] = 1);
        List.of(0, 1).forEach(r -> ranks.get(r).recoverer.mask(2));
        Map<Integer, Object> ends = each(List.of(0, 1), r -> r.recoverer.fence(Deadline.in(DEADLINE)));
        assertThat(ends.values()).containsOnly(true);
        assertExpelled(caught(() -> ranks.get(2).waits.requireMember("low-latency combine")), 2);
    }

    @Test
    void aMaskedRankThatIsDoneKeepsItsWayBack() {
        form(3);
        List.of(0, 1).forEach(r -> ranks.get(r).recoverer.mask(2));
        assertThat(ranks.get(0).recoverer.isFenceDue()).isTrue();
        Map<Integer, Object> ends = each(List.of(0, 1), r -> r.recoverer.fence(Deadline.in(DEADLINE)));
        assertThat(ends.values()).containsOnly(false);
        assertThat(ranks.get(0).generation).isZero();
        ranks.get(2).waits.requireMember("dispatch");
        assertThat(ranks.get(0).recoverer.isFenceDue()).isFalse();
    }

    /** Ranks 0 and 1 have gone on by the tie; the end of rank 0 makes no majority of the others. */
    @Test
    void aPartThatMayNotGoOnIsNotHelpedByADeathInTheOther() {
        form(4);
        hold(0, 2, 3);
        hold(1, 2, 3);
        hold(2, 0, 1);
        hold(3, 0, 1);
        Map<Integer, Object> ends = recover(Duration.ofSeconds(1), 0, 1, 2, 3);
        assertThat(ends.get(1)).isInstanceOf(Recovery.class);
        die(0);
        assertExpelled(recover(Duration.ofSeconds(1), 2, 3).get(2), 2);
        assertThat(((Recovery) recover(1).get(1)).masked()).containsExactlyInAnyOrder(0, 2, 3);
    }

    /** Deaths, stops and cuts at random moments, known to each rank at another one. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24})
    void twoPartsNeverBothGoOn(long seed) {
        Random random = new Random(seed);
        for (int round = 0; round < 4; round++) {
            ranks.clear();
            int size = 2 + random.nextInt(6);
            form(size);
            Set<Integer> dead = pick(random, size, size - 1);
            int cut = random.nextInt(size + 1);
            List<Integer> living = IntStream.range(0, size)
                    .filter(r -> !dead.contains(r))
                    .boxed()
                    .toList();
            Runnable faults = () -> {
                dead.forEach(r -> {
                    pause(random.nextInt(3));
                    die(r);
                });
                for (int a = 0; a < size; a++) {
                    for (int b = 0; b < size; b++) {
                        if ((a < cut) != (b < cut)) {
                            hold(a, b);
                        }
                    }
                }
            };
            Map<Integer, Object> ends;
            Thread injector = new Thread(faults);
            injector.start();
            ends = recover(
                    Duration.ofMillis(700), living.stream().mapToInt(r -> r).toArray());
            join(injector);
            Set<Set<Integer>> parts = new HashSet<>();
            ends.forEach((rank, end) -> {
                if (end instanceof Recovery recovery) {
                    Set<Integer> part = new TreeSet<>(living);
                    part.removeAll(recovery.masked());
                    parts.add(part);
                    assertThat(part).as("seed %d rank %d", seed, rank).contains(rank);
                }
            });
            List<Set<Integer>> all = new ArrayList<>(parts);
            for (int i = 0; i < all.size(); i++) {
                for (int j = 0; j < i; j++) {
                    assertThat(all.get(i))
                            .as(
                                    "seed %d: parts %s and %s of %s, cut at %d, dead %s",
                                    seed, all.get(i), all.get(j), size, cut, dead)
                            .containsAnyElementsOf(all.get(j));
                }
            }
        }
    }

    private static Set<Integer> pick(Random random, int size, int most) {
        Set<Integer> picked = new TreeSet<>();
        int count = random.nextInt(most + 1);
        while (picked.size() < count) {
            picked.add(random.nextInt(size));
        }
        return picked;
    }

    private static void pause(int millis) {
        LockSupport.parkNanos(millis * 1_000_000L);
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void form(int size) {
        BufferLayout layout =
                new BufferLayout(EpShape.builder(64, 2 * size, 1).maxTokens(4).build(), size);
        MemorySpace first =
                new MemorySpace(layout, IntStream.range(0, size).boxed().collect(Collectors.toSet()));
        generations.values().forEach(MemorySpace::close);
        generations.clear();
        generations.put(0, first);
        for (int r = 0; r < size; r++) {
            ranks.add(new Rank(r, size, layout, first));
        }
    }

    /** Its process ends, which the others of its host can prove. */
    private void die(int rank) {
        ranks.get(rank).gone.set(true);
        ranks.forEach(r -> r.holds(rank));
    }

    /** It is silent for so long that the others hold it lost; it may come back. */
    private void stop(int rank) {
        for (Rank r : ranks) {
            if (r.rank != rank) {
                r.holds(rank);
            }
        }
    }

    /** A stopped rank goes on, and has heard of nothing. */
    private void comeBack(int rank) {
        assertThat(ranks.get(rank).gone).isFalse();
    }

    private void hold(int observer, int... lost) {
        for (int rank : lost) {
            ranks.get(observer).holds(rank);
        }
    }

    private Map<Integer, Object> recover(int... which) {
        return recover(DEADLINE, which);
    }

    private Map<Integer, Object> recover(Duration deadline, int... which) {
        return each(IntStream.of(which).boxed().toList(), r -> r.recoverer.recover(0, Deadline.in(deadline)));
    }

    private interface Part {
        Object run(Rank rank);
    }

    /** Result or exception of each. */
    private Map<Integer, Object> each(List<Integer> which, Part part) {
        ExecutorService threads = Executors.newFixedThreadPool(which.size());
        try {
            Map<Integer, Future<Object>> futures = new HashMap<>();
            which.forEach(r -> futures.put(r, threads.submit(() -> caught(() -> part.run(ranks.get(r))))));
            Map<Integer, Object> ends = new TreeMap<>();
            for (Map.Entry<Integer, Future<Object>> future : futures.entrySet()) {
                ends.put(future.getKey(), future.getValue().get());
            }
            return ends;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        } finally {
            threads.shutdownNow();
        }
    }

    private interface Call {
        Object call();
    }

    private static Object caught(Runnable call) {
        return caught(() -> {
            call.run();
            return "no exception";
        });
    }

    private static Object caught(Call call) {
        try {
            return call.call();
        } catch (EpException e) {
            return e;
        }
    }

    private static void assertExpelled(Object end, int rank) {
        assertThat(end)
                .isInstanceOfSatisfying(
                        EpPeerLostException.class, e -> assertThat(e.peer()).isEqualTo(rank));
    }

    /** One generation of symmetric memory of some ranks. */
    private static final class MemorySpace implements AutoCloseable {
        private final Map<Integer, DeviceAllocation> memory = new TreeMap<>();
        private final Set<Integer> members;

        MemorySpace(BufferLayout layout, Set<Integer> members) {
            this.members = members;
            HostDevice device = new HostDevice();
            members.forEach(r -> memory.put(r, device.allocate(layout.bytes())));
        }

        SymmetricMemory of(int rank, int ranks) {
            Map<Integer, DeviceMemory> mapped = new HashMap<>();
            memory.forEach((r, allocation) -> {
                if (r != rank) {
                    mapped.put(r, allocation.memory());
                }
            });
            return new SymmetricMemory(rank, ranks, memory.get(rank).memory(), mapped, Map.of(), Map.of());
        }

        @Override
        public void close() {
            memory.values().forEach(DeviceAllocation::close);
        }
    }

    private final class Rank implements FreshMemory {
        private final int rank;
        private final int size;
        private final BufferLayout layout;
        private final AtomicBoolean gone = new AtomicBoolean();
        private final AtomicBoolean left = new AtomicBoolean();
        private final AtomicBoolean lockKept = new AtomicBoolean();
        private final AtomicBoolean[] held;
        private final AtomicInteger changes = new AtomicInteger();
        private final AtomicInteger failMoves = new AtomicInteger();
        private final long[] begun = new long[3];
        private final Peers<HostMemory> peers;
        private final Waits waits;
        private final Recoverer recoverer;
        private int generation;

        Rank(int rank, int size, BufferLayout layout, MemorySpace first) {
            this.rank = rank;
            this.size = size;
            this.layout = layout;
            this.held =
                    IntStream.range(0, size).mapToObj(r -> new AtomicBoolean()).toArray(AtomicBoolean[]::new);
            peers = new Peers<>(
                    RailsTest.plan(IntStream.range(0, size).map(r -> 0).boxed().toList()),
                    layout,
                    first.of(rank, size),
                    HostMemory::of,
                    Deadline.in(DEADLINE));
            Bootstrap bootstrap = new View();
            DeathProof proofs = new DeathProof() {
                @Override
                public boolean isGone(int member) {
                    return ranks.get(member).gone.get();
                }

                @Override
                public boolean isHeld(int member) {
                    return ranks.get(member).lockKept.get();
                }
            };
            waits = new Waits(peers, bootstrap, proofs, size);
            recoverer = new Recoverer(
                    new Recoverer.Numbers() {
                        @Override
                        public long[] begun() {
                            return begun.clone();
                        }

                        @Override
                        public void restart(long highThroughput, long dispatch, long combine) {
                            begun[0] = highThroughput;
                        }

                        @Override
                        public void moved() {
                            // There are no results here.
                        }
                    },
                    peers,
                    waits,
                    bootstrap,
                    proofs,
                    this);
        }

        void holds(int lost) {
            held[lost].set(true);
            changes.incrementAndGet();
        }

        /** Collective through a table of generations, as a backend's is through the bootstrap. */
        @Override
        public SymmetricMemory make(long epoch, Set<Integer> lost, Deadline deadline) {
            Set<Integer> members = new TreeSet<>();
            IntStream.range(0, size).filter(r -> !lost.contains(r)).forEach(members::add);
            MemorySpace space;
            synchronized (generations) {
                space = generations.computeIfAbsent((int) epoch, e -> new MemorySpace(layout, members));
            }
            assertThat(space.members).isEqualTo(members);
            if (failMoves.getAndUpdate(n -> Math.max(0, n - 1)) > 0) {
                throw new EpException("the last step of the move was not heard");
            }
            generation = (int) epoch;
            return space.of(rank, size);
        }

        @Override
        public void freeOlder() {}

        @Override
        public void freeNewest() {
            generation = 0;
        }

        /** What one rank knows of the others. */
        private final class View implements Bootstrap {
            @Override
            public int rank() {
                return rank;
            }

            @Override
            public int size() {
                return size;
            }

            @Override
            public List<byte[]> allGather(String tag, byte[] mine, Duration deadline) {
                throw new AssertionError("gathers " + tag);
            }

            @Override
            public MemberState state(int member) {
                if (ranks.get(member).left.get()) {
                    return MemberState.LEFT;
                }
                return held[member].get() ? MemberState.LOST : MemberState.ALIVE;
            }

            @Override
            public long stateChanges() {
                return changes.get();
            }

            @Override
            public Bootstrap subgroup(String name, List<Integer> members) {
                throw new AssertionError("divides into " + members);
            }

            @Override
            public void close() {}
        }
    }
}
