package org.ep4j.cli.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class SpinBarrierTest {
    private static final int RANKS = 5;
    private static final int ROUNDS = 500;

    @TempDir
    private Path folder;

    @Test
    void noRankLeavesARoundBeforeAllHaveArrived() throws Exception {
        AtomicIntegerArray arrived = new AtomicIntegerArray(ROUNDS);
        ExecutorService threads = Executors.newFixedThreadPool(RANKS);
        List<Future<?>> ranks = new ArrayList<>();
        for (int rank = 0; rank < RANKS; rank++) {
            SpinBarrier barrier = SpinBarrier.open(folder.resolve("b"), rank, RANKS, Guard.minute(), Set::of);
            ranks.add(threads.submit(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    arrived.incrementAndGet(round);
                    barrier.await();
                    assertThat(arrived.get(round)).isEqualTo(RANKS);
                }
            }));
        }
        for (Future<?> rank : ranks) {
            rank.get(Guard.minutes(2).toSeconds(), TimeUnit.SECONDS);
        }
        threads.shutdown();
    }

    @Test
    void allRanksGetTheSameArrivalTimeOfTheLastOne() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(RANKS);
        List<Future<List<Long>>> ranks = new ArrayList<>();
        AtomicLongArray latest = new AtomicLongArray(ROUNDS);
        long origin = System.nanoTime();
        for (int rank = 0; rank < RANKS; rank++) {
            SpinBarrier barrier = SpinBarrier.open(folder.resolve("b"), rank, RANKS, Guard.minute(), Set::of);
            ranks.add(threads.submit(() -> {
                List<Long> times = new ArrayList<>();
                for (int round = 0; round < ROUNDS; round++) {
                    latest.accumulateAndGet(round, System.nanoTime() - origin, Math::max);
                    times.add(barrier.await() - origin);
                    assertThat(System.nanoTime() - origin).isGreaterThanOrEqualTo(times.get(round));
                }
                return times;
            }));
        }
        List<Long> first = ranks.get(0).get(Guard.minutes(2).toSeconds(), TimeUnit.SECONDS);
        for (Future<List<Long>> rank : ranks) {
            assertThat(rank.get(Guard.minutes(2).toSeconds(), TimeUnit.SECONDS)).isEqualTo(first);
        }
        for (int round = 0; round < ROUNDS; round++) {
            assertThat(first.get(round)).isGreaterThanOrEqualTo(latest.get(round));
        }
        threads.shutdown();
    }

    @Test
    void aRankThatDoesNotArriveIsNamed() {
        SpinBarrier barrier = SpinBarrier.open(folder.resolve("b"), 0, 2, Duration.ofMillis(50), Set::of);
        assertThatThrownBy(barrier::await).isInstanceOfSatisfying(EpTimeoutException.class, e -> {
            assertThat(e.failure().peer()).isEqualTo(1);
            assertThat(e.failure().expected()).isEqualTo(1);
            assertThat(e.failure().seen()).isZero();
        });
    }

    /** A launcher may let the others live. */
    @Test
    void aRankThatIsLostIsNotWaitedFor() {
        AtomicInteger asked = new AtomicInteger();
        SpinBarrier barrier = SpinBarrier.open(
                folder.resolve("b"),
                0,
                3,
                Guard.minute(),
                () -> asked.incrementAndGet() < 3 ? Set.of(2) : Set.of(1, 2));
        assertThatThrownBy(barrier::await)
                .isInstanceOfSatisfying(
                        EpPeerLostException.class,
                        e -> assertThat(e.failure().peer()).isEqualTo(1))
                .hasMessageContaining("rank 1 is lost");
        assertThat(asked).hasValue(3);
    }
}
