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
import java.util.function.UnaryOperator;
import org.ep4j.EpFailure;
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
                throw new EpPeerLostException(
                        "gone", EpFailure.builder("test", peer).build());
            }
        }

        @Override
        public void put(int peer, long targetOffset, long sourceOffset, long bytes) {
            note(peer, "put " + targetOffset + " " + sourceOffset + " " + bytes);
        }

        @Override
        public void putMessage(int peer, long targetOffset, long sourceOffset, long bytes) {
            note(peer, "message " + targetOffset + " " + sourceOffset + " " + bytes);
        }

        @Override
        public void signal(int peer, int counter, long value) {
            note(peer, "signal " + counter + " " + value);
        }

        @Override
        public long counter(int counter, int source) {
            return 100L * source + counter;
        }

        @Override
        public void flush(int peer, long deadlineNanos) {
            note(peer, "flush " + deadlineNanos);
        }
    }

    /** Keeps a write to peer 0 until it may go on. */
    private static final class Slow implements HostPosted {
        private final CountDownLatch held = new CountDownLatch(1);
        private final CountDownLatch go = new CountDownLatch(1);
        private final Notes notes;
        private long flushedUntil;

        Slow(Notes notes) {
            this.notes = notes;
        }

        @Override
        public void put(int peer, long targetOffset, long sourceOffset, long bytes) {
            if (peer == 0) {
                held.countDown();
                try {
                    assertThat(go.await(SECONDS, TimeUnit.SECONDS)).isTrue();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
            notes.put(peer, targetOffset, sourceOffset, bytes);
        }

        @Override
        public void signal(int peer, int counter, long value) {
            notes.signal(peer, counter, value);
        }

        @Override
        public long counter(int counter, int source) {
            return notes.counter(counter, source);
        }

        @Override
        public void flush(int peer, long deadlineNanos) {
            flushedUntil = deadlineNanos;
            notes.flush(peer, deadlineNanos);
        }
    }

    private record Step(int peer, int counter, long value) {}

    /** Each peer and counter by itself; a value comes once, and never one below it. */
    @Property(tries = 200)
    void aValueThatIsNotAboveTheLastOneIsLeftOut(
            @ForAll @Size(max = 60) List<@IntRange(min = 0, max = RANKS * 2 * 8 - 1) Integer> steps) {
        Notes notes = new Notes();
        SharedPosted shared = new SharedPosted(notes, RANKS, UnaryOperator.identity());
        Map<List<Integer>, Long> last = new HashMap<>();
        List<List<String>> expected = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        for (int code : steps) {
            Step step = new Step(code % RANKS, code / RANKS % 2 * (HostPosted.COUNTERS - 1), code / RANKS / 2);
            shared.signal(step.peer(), step.counter(), step.value());
            List<Integer> key = List.of(step.peer(), step.counter());
            if (step.value() > last.getOrDefault(key, 0L)) {
                last.put(key, step.value());
                expected.get(step.peer()).add("signal " + step.counter() + " " + step.value());
            }
        }
        assertThat(notes.told).isEqualTo(expected);
    }

    @Test
    void everythingElseGoesThrough() {
        Notes notes = new Notes();
        SharedPosted shared = new SharedPosted(notes, RANKS, UnaryOperator.identity());
        shared.put(1, 16, 32, 48);
        shared.put(1, 16, 32, 48);
        shared.putMessage(1, 16, 32, 64);
        shared.flush(1, 7);
        assertThat(notes.told.get(1)).containsExactly("put 16 32 48", "put 16 32 48", "message 16 32 64", "flush 7");
        assertThat(shared.counter(5, 2)).isEqualTo(205);
    }

    /** What was not told may be told again. */
    @Test
    void aSignalThatFailedIsNotTakenForTold() {
        Notes notes = new Notes();
        SharedPosted shared = new SharedPosted(notes, RANKS, UnaryOperator.identity());
        notes.lost = true;
        assertThatThrownBy(() -> shared.signal(2, 1, 5)).isInstanceOf(EpPeerLostException.class);
        notes.lost = false;
        shared.signal(2, 1, 5);
        assertThat(notes.told.get(2)).containsExactly("signal 1 5", "signal 1 5");
    }

    @Test
    void threadsMayPostToOnePeerAtOnce() throws Exception {
        int threads = 4;
        int each = 5_000;
        Notes notes = new Notes();
        SharedPosted shared = new SharedPosted(notes, RANKS, UnaryOperator.identity());
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
                            shared.put(1, thread, i, 16);
                        } else {
                            shared.putMessage(1, thread, i, 16);
                        }
                        shared.signal(1, 3, (long) i * threads + thread);
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
        assertThat(told.stream().filter(what -> !what.startsWith("signal"))).hasSize(threads * each);
        List<Long> values = told.stream()
                .filter(what -> what.startsWith("signal 3 "))
                .map(what -> Long.parseLong(what.substring("signal 3 ".length())))
                .toList();
        assertThat(values).isSorted().doesNotHaveDuplicates().endsWith((long) each * threads + threads - 1);
    }

    /** One peer's full queue does not hold up the others. */
    @Test
    void peersDoNotWaitForEachOther() throws Exception {
        Notes notes = new Notes();
        Slow slow = new Slow(notes);
        SharedPosted shared = new SharedPosted(
                slow,
                RANKS,
                failure -> failure.toBuilder().host("host " + failure.peer()).build());
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try {
            Future<?> end = executor.submit(() -> shared.put(0, 0, 0, 16));
            assertThat(slow.held.await(SECONDS, TimeUnit.SECONDS)).isTrue();
            shared.put(1, 0, 0, 16);
            shared.signal(1, 0, 1);
            // A flush of the peer that is held waits until its own deadline.
            assertThatThrownBy(() -> shared.flush(
                            0, System.nanoTime() + Duration.ofMillis(20).toNanos()))
                    .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                        assertThat(e.failure().peer()).isZero();
                        assertThat(e.failure().host()).isEqualTo("host 0");
                    })
                    .hasMessageMatching(".*posts to rank 0 for (1?\\d|20) ms.*");
            slow.go.countDown();
            end.get(SECONDS, TimeUnit.SECONDS);
        } finally {
            executor.shutdownNow();
        }
        assertThat(notes.told.get(0)).containsExactly("put 0 0 16");
    }

    @Test
    void aFlushThatWaitedForThePeerEndsAtTheSameDeadline() throws Exception {
        Slow slow = new Slow(new Notes());
        SharedPosted shared = new SharedPosted(slow, RANKS, UnaryOperator.identity());
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try {
            Future<?> end = executor.submit(() -> shared.put(0, 0, 0, 16));
            assertThat(slow.held.await(SECONDS, TimeUnit.SECONDS)).isTrue();
            long deadline = System.nanoTime() + Guard.minute().toNanos();
            CompletableFuture<Void> flush = new CompletableFuture<>();
            Thread flushes = new Thread(() -> {
                shared.flush(0, deadline);
                flush.complete(null);
            });
            flushes.setDaemon(true);
            flushes.start();
            Guard.until("the flush waits for the peer", () -> flushes.getState() == Thread.State.TIMED_WAITING);
            slow.go.countDown();
            flush.get(SECONDS, TimeUnit.SECONDS);
            end.get(SECONDS, TimeUnit.SECONDS);
            assertThat(slow.flushedUntil).isEqualTo(deadline);
        } finally {
            executor.shutdownNow();
        }
    }
}
