package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.HostPosted;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Guard;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class SharedPostedTest {
    private static final int RANKS = 3;
    private static final long SECONDS = Guard.minute().toSeconds();

    /** Writes down what it is told, and that calls for one peer do not overlap. */
    private static final class Notes implements HostPosted {
        private final List<List<String>> told = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        private final boolean[] inside = new boolean[RANKS];
        private boolean overlapped;
        private boolean lost;

        // Not synchronized on purpose: a caller that does not keep its promise is seen.
        private void note(int peer, String what) {
            overlapped |= inside[peer];
            inside[peer] = true;
            Thread.onSpinWait();
            told.get(peer).add(what);
            inside[peer] = false;
            if (lost) {
                throw new EpPeerLostException("gone", peer, "test");
            }
        }

        @Override
        public void write(int peer, long target, long source, long bytes) {
            note(peer, "write " + target + " " + source + " " + bytes);
        }

        @Override
        public void writeMessage(int peer, long target, long source, long bytes) {
            note(peer, "message " + target + " " + source + " " + bytes);
        }

        @Override
        public void advance(int peer, int counter, long value) {
            note(peer, "advance " + counter + " " + value);
        }

        @Override
        public long seen(int counter, int source) {
            return 100L * source + counter;
        }

        @Override
        public void drain(int peer, Duration deadline) {
            note(peer, "drain " + deadline.toMillis());
        }
    }

    /** Keeps a write to peer 0 until it may go on. */
    private static final class Slow implements HostPosted {
        private final CountDownLatch held = new CountDownLatch(1);
        private final CountDownLatch go = new CountDownLatch(1);
        private final Notes notes;
        private Duration drained = Duration.ZERO;

        Slow(Notes notes) {
            this.notes = notes;
        }

        @Override
        public void write(int peer, long target, long source, long bytes) {
            if (peer == 0) {
                held.countDown();
                try {
                    assertThat(go.await(SECONDS, TimeUnit.SECONDS)).isTrue();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
            notes.write(peer, target, source, bytes);
        }

        @Override
        public void advance(int peer, int counter, long value) {
            notes.advance(peer, counter, value);
        }

        @Override
        public long seen(int counter, int source) {
            return notes.seen(counter, source);
        }

        @Override
        public void drain(int peer, Duration deadline) {
            drained = deadline;
            notes.drain(peer, deadline);
        }
    }

    private record Step(int peer, int counter, long value) {}

    /** Each peer and counter by itself; a value comes once, and never one below it. */
    @Property(tries = 200)
    void aValueThatIsNotAboveTheLastOneIsLeftOut(
            @ForAll @Size(max = 60) List<@IntRange(min = 0, max = RANKS * 2 * 8 - 1) Integer> steps) {
        Notes notes = new Notes();
        SharedPosted shared = new SharedPosted(notes, RANKS);
        Map<List<Integer>, Long> last = new HashMap<>();
        List<List<String>> expected = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        for (int code : steps) {
            Step step = new Step(code % RANKS, code / RANKS % 2 * (HostPosted.COUNTERS - 1), code / RANKS / 2);
            shared.advance(step.peer(), step.counter(), step.value());
            List<Integer> key = List.of(step.peer(), step.counter());
            if (step.value() > last.getOrDefault(key, 0L)) {
                last.put(key, step.value());
                expected.get(step.peer()).add("advance " + step.counter() + " " + step.value());
            }
        }
        assertThat(notes.told).isEqualTo(expected);
    }

    @Test
    void everythingElseGoesThrough() {
        Notes notes = new Notes();
        SharedPosted shared = new SharedPosted(notes, RANKS);
        shared.write(1, 16, 32, 48);
        shared.write(1, 16, 32, 48);
        shared.writeMessage(1, 16, 32, 64);
        shared.drain(1, Duration.ofMillis(7));
        assertThat(notes.told.get(1))
                .containsExactly("write 16 32 48", "write 16 32 48", "message 16 32 64", "drain 7");
        assertThat(shared.seen(5, 2)).isEqualTo(205);
    }

    /** What was not told may be told again. */
    @Test
    void anAdvanceThatFailedIsNotTakenForTold() {
        Notes notes = new Notes();
        SharedPosted shared = new SharedPosted(notes, RANKS);
        notes.lost = true;
        assertThatThrownBy(() -> shared.advance(2, 1, 5)).isInstanceOf(EpPeerLostException.class);
        notes.lost = false;
        shared.advance(2, 1, 5);
        assertThat(notes.told.get(2)).containsExactly("advance 1 5", "advance 1 5");
    }

    @Test
    void threadsMayPostToOnePeerAtOnce() throws Exception {
        int threads = 4;
        int each = 5_000;
        Notes notes = new Notes();
        SharedPosted shared = new SharedPosted(notes, RANKS);
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            CountDownLatch start = new CountDownLatch(threads);
            List<Future<Void>> ends = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                int thread = t;
                Callable<Void> work = () -> {
                    start.countDown();
                    start.await();
                    for (int i = 1; i <= each; i++) {
                        if (i % 2 == 0) {
                            shared.write(1, thread, i, 16);
                        } else {
                            shared.writeMessage(1, thread, i, 16);
                        }
                        shared.advance(1, 3, (long) i * threads + thread);
                    }
                    return null;
                };
                ends.add(executor.submit(work));
            }
            for (Future<Void> end : ends) {
                end.get(SECONDS, TimeUnit.SECONDS);
            }
        } finally {
            executor.shutdownNow();
        }
        assertThat(notes.overlapped).isFalse();
        List<String> told = notes.told.get(1);
        assertThat(told.stream().filter(what -> !what.startsWith("advance"))).hasSize(threads * each);
        List<Long> values = told.stream()
                .filter(what -> what.startsWith("advance 3 "))
                .map(what -> Long.parseLong(what.substring("advance 3 ".length())))
                .toList();
        assertThat(values).isSorted().doesNotHaveDuplicates().endsWith((long) each * threads + threads - 1);
    }

    /** One peer's full queue does not hold up the others. */
    @Test
    void peersDoNotWaitForEachOther() throws Exception {
        Notes notes = new Notes();
        Slow slow = new Slow(notes);
        SharedPosted shared = new SharedPosted(slow, RANKS);
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try {
            Future<?> end = executor.submit(() -> shared.write(0, 0, 0, 16));
            assertThat(slow.held.await(SECONDS, TimeUnit.SECONDS)).isTrue();
            shared.write(1, 0, 0, 16);
            shared.advance(1, 0, 1);
            // A drain of the peer that is held waits until its own deadline.
            assertThatThrownBy(() -> shared.drain(0, Duration.ofMillis(20)))
                    .isInstanceOfSatisfying(
                            EpTimeoutException.class, e -> assertThat(e.peer()).isZero())
                    .hasMessageContaining("posts to rank 0 for 20 ms");
            slow.go.countDown();
            end.get(SECONDS, TimeUnit.SECONDS);
        } finally {
            executor.shutdownNow();
        }
        assertThat(notes.told.get(0)).containsExactly("write 0 0 16");
    }

    @Test
    void aDrainThatWaitedForThePeerHasThatMuchLessTimeLeft() throws Exception {
        Slow slow = new Slow(new Notes());
        SharedPosted shared = new SharedPosted(slow, RANKS);
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try {
            Future<?> end = executor.submit(() -> shared.write(0, 0, 0, 16));
            assertThat(slow.held.await(SECONDS, TimeUnit.SECONDS)).isTrue();
            CompletableFuture<Void> drain = new CompletableFuture<>();
            Thread drains = new Thread(() -> {
                shared.drain(0, Guard.minute());
                drain.complete(null);
            });
            drains.setDaemon(true);
            drains.start();
            Guard.until("the drain waits for the peer", () -> drains.getState() == Thread.State.TIMED_WAITING);
            slow.go.countDown();
            drain.get(SECONDS, TimeUnit.SECONDS);
            end.get(SECONDS, TimeUnit.SECONDS);
        } finally {
            executor.shutdownNow();
        }
        assertThat(slow.drained).isPositive().isLessThan(Guard.minute());
    }
}
