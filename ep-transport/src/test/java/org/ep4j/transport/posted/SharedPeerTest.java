package org.ep4j.transport.posted;

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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.HostPosted;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Guard;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.WordMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Several threads that post to one peer: proxy threads for kernels, and the thread that sets up and recovers. */
@Tag("verify")
final class SharedPeerTest {
    private static final int BYTES = 4096;
    private static final Duration LONG = Guard.minute();

    private final FakeNetwork network = new FakeNetwork();

    /** A buffer of rank 0, its memory and that of its peers, and connections to ranks 1 and 2. */
    private final class Setup {
        private final List<WordMemory> words = List.of(WordMemory.allocate(BYTES), WordMemory.allocate(BYTES));
        private final FakeNetwork.Memory mine = memory(0);
        private final FakeNetwork.Memory theirs = memory(1);
        private final Map<Integer, FakeNetwork.Connection> connections;
        private final PostedBuffer<FakeNetwork.Memory> buffer;

        Setup(Duration timeout) {
            mine.keys(List.of(mine.key(), theirs.key()));
            // Rank 2 stands for a second peer; what is written to it goes to this rank's own memory.
            connections = Map.of(1, connection(1, 1, timeout), 2, connection(2, 0, timeout));
            buffer = new PostedBuffer<>(
                    "fake", "b", 0, mine, Map.copyOf(connections), new PostedBuffer.LastRead(), one -> {});
        }

        private FakeNetwork.Memory memory(int rank) {
            return network
            .new Memory(
                    DeviceMemory.of(words.get(rank).address(), BYTES, Device.HOST), new PostedMemory.Registrations());
        }

        private FakeNetwork.Connection connection(int rank, int index, Duration timeout) {
            EpFailure failure = EpFailure.builder("host-posted writes", rank).build();
            return network.new Connection(new PostedPeer(rank, index, "rank " + rank, failure), 0, timeout);
        }

        FakeNetwork.Connection to(int rank) {
            FakeNetwork.Connection found = connections.get(rank);
            if (found == null) {
                throw new AssertionError("no connection to rank " + rank);
            }
            return found;
        }

        void flush(int peer) {
            buffer.flush(peer, Deadline.in(LONG).nanoTime());
        }
    }

    /** Each peer and counter by itself; a value is posted once, and never one below it. */
    @Property(tries = 200)
    void aValueThatIsNotAboveTheLastOneIsLeftOut(
            @ForAll @Size(max = 60) List<@IntRange(min = 0, max = 2 * 2 * 8 - 1) Integer> steps) {
        Setup setup = new Setup(LONG);
        Map<List<Long>, Long> last = new HashMap<>();
        List<List<List<Long>>> expected = List.of(new ArrayList<>(), new ArrayList<>());
        for (int code : steps) {
            int peer = 1 + code % 2;
            long counter = code / 2 % 2 * (HostPosted.COUNTERS - 1L);
            long value = code / 4;
            setup.buffer.signal(peer, (int) counter, value);
            if (value > last.getOrDefault(List.of((long) peer, counter), 0L)) {
                last.put(List.of((long) peer, counter), value);
                expected.get(peer - 1).add(List.of(counter, value));
            }
        }
        assertThat(List.of(setup.to(1).signals, setup.to(2).signals)).isEqualTo(expected);
    }

    /** What was not posted may be posted again. */
    @Test
    void aSignalThatFailedMayBeRepeated() {
        Setup setup = new Setup(Duration.ofMillis(20));
        network.stalled = true;
        for (int i = 0; i < FakeNetwork.DEPTH; i++) {
            setup.buffer.put(1, 0, 0, 8);
        }
        assertThatThrownBy(() -> setup.buffer.signal(1, 1, 5)).isInstanceOf(EpTimeoutException.class);
        assertThat(setup.to(1).signals).isEmpty();
        network.stalled = false;
        setup.buffer.signal(1, 1, 5);
        setup.flush(1);
        assertThat(setup.theirs.showNew(0, 1)).isTrue();
        assertThat(setup.theirs.shown(0, 1)).isEqualTo(5);
    }

    @Test
    void threadsMayPostToOnePeerAtOnce() throws Exception {
        int threads = 4;
        int each = 5_000;
        Setup setup = new Setup(LONG);
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
                            setup.buffer.put(1, 0, 0, 16);
                        } else {
                            setup.buffer.putMessage(1, 0, 0, 16);
                        }
                        setup.buffer.signal(1, 3, (long) i * threads + thread);
                    }
                    return null;
                };
                ends.add(executor.submit(work));
            }
            for (Future<Void> end : ends) {
                end.get(LONG.toSeconds(), TimeUnit.SECONDS);
            }
        } finally {
            executor.shutdownNow();
        }
        setup.flush(1);
        assertThat(setup.to(1).overlapped).isFalse();
        assertThat(setup.to(1).writes).isEqualTo(threads * each);
        long highest = (long) each * threads + threads - 1;
        List<Long> values =
                setup.to(1).signals.stream().map(signal -> signal.get(1)).toList();
        assertThat(values).isSorted().doesNotHaveDuplicates().endsWith(highest);
        assertThat(setup.theirs.showNew(0, 3)).isTrue();
        assertThat(setup.theirs.shown(0, 3)).isEqualTo(highest);
    }

    /** One peer's full queue does not hold up the others. */
    @Test
    void peersDoNotWaitForEachOther() {
        Setup setup = new Setup(LONG);
        setup.to(1)
                .hold(() -> CompletableFuture.runAsync(() -> {
                            setup.buffer.put(2, 0, 0, 16);
                            setup.buffer.signal(2, 0, 1);
                            setup.flush(2);
                        })
                        .orTimeout(LONG.toSeconds(), TimeUnit.SECONDS)
                        .join());
        assertThat(setup.to(2).writes).isEqualTo(1);
        assertThat(setup.to(1).writes).isZero();
    }

    @Test
    void aFlushWaitsForAnotherThreadThatPosts() throws InterruptedException {
        Setup setup = new Setup(LONG);
        setup.buffer.put(1, 0, 0, 16);
        Thread flush = new Thread(() -> setup.flush(1));
        flush.setDaemon(true);
        setup.to(1).hold(() -> {
            flush.start();
            Guard.until("the flush waits for the peer", () -> flush.getState() == Thread.State.TIMED_WAITING);
            assertThat(setup.to(1).inFlight()).isEqualTo(1);
        });
        flush.join(LONG.toMillis());
        assertThat(flush.isAlive()).isFalse();
        assertThat(setup.to(1).inFlight()).isZero();
    }

    /** The time of a flush does not begin anew once it has the connection. */
    @Test
    void aFlushThatWaitedForThePeerEndsAtTheSameDeadline() {
        Setup setup = new Setup(LONG);
        network.stalled = true;
        setup.buffer.put(1, 0, 0, 16);
        // There is time left by the clock of the wait for the other thread, none by that of the wait for the writes.
        long end = System.nanoTime();
        Deadline deadline = new Deadline(() -> end - LONG.toNanos(), end, LONG.multipliedBy(60));
        CompletableFuture<Void> ended = new CompletableFuture<>();
        Thread flush = new Thread(() -> {
            try {
                setup.to(1).flush(deadline, PostedConnection.NO_CHECK);
                ended.complete(null);
            } catch (EpTimeoutException e) {
                ended.completeExceptionally(e);
            }
        });
        flush.setDaemon(true);
        setup.to(1).hold(() -> {
            flush.start();
            Guard.until("the flush waits for the peer", () -> flush.getState() == Thread.State.TIMED_WAITING);
        });
        assertThat(ended)
                .failsWithin(LONG)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(EpTimeoutException.class)
                .withMessageContaining("rank 1 accepted no data before the deadline");
    }

    /** Also what stayed behind because the network took nothing then. */
    @Test
    void aSignalThatIsLeftOutMakesProgress() {
        Setup setup = new Setup(LONG);
        setup.buffer.signal(1, 1, 5);
        setup.buffer.put(1, 0, 0, 16);
        assertThat(setup.to(1).inFlight()).isEqualTo(1);
        setup.buffer.signal(1, 1, 5);
        assertThat(setup.to(1).inFlight()).isZero();
    }
}
