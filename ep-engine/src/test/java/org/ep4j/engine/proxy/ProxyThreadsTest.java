package org.ep4j.engine.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.ep4j.EpArgumentException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.proxy.CommandRing.CommandSink;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class ProxyThreadsTest {
    private static final Duration SPIN = Duration.ofNanos(50_000);
    private static final Duration DEADLINE = Guard.minute();

    private final List<Throwable> failures = new CopyOnWriteArrayList<>();

    /** Checks the order of each ring, whose advances are numbered from 0, and counts. */
    private static final class Order implements CommandSink {
        private final long[] next;
        private final Thread[] thread;
        private final AtomicLong wrong = new AtomicLong();
        private volatile long taken;

        Order(int rings) {
            this.next = new long[rings];
            this.thread = new Thread[rings];
        }

        @Override
        public void write(int ring, int peer, long target, long source, long bytes) {
            wrong.incrementAndGet();
        }

        @Override
        public void advance(int ring, int peer, int counter, long value) {
            Thread mine = Thread.currentThread();
            if (value != next[ring] || peer != ring || (thread[ring] != null && thread[ring] != mine)) {
                wrong.incrementAndGet();
            }
            thread[ring] = mine;
            next[ring] = value + 1;
            if (ring == 0) {
                taken = value + 1;
            }
        }
    }

    private static List<CommandRing> rings(int count, int commands) {
        return IntStream.range(0, count).mapToObj(i -> Rings.of(commands)).toList();
    }

    private ProxyThreads start(int threads, List<CommandRing> rings, CommandSink sink) {
        return new ProxyThreads(
                "test-proxy", threads, rings, sink, thread -> false, (failure, peer) -> failures.add(failure), SPIN);
    }

    private static void advance(CommandProducer producer, int peer, long value) {
        while (!producer.advance(peer, 0, value)) {
            Thread.onSpinWait();
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 1, true", "1, 3, true", "2, 3, false", "3, 2, true"})
    void everyCommandIsExecutedOnceInRingOrderByOneThread(int threads, int count, boolean awake) {
        List<CommandRing> rings = rings(count, 64);
        Order sink = new Order(count);
        ProxyThreads proxies = start(threads, rings, sink);
        if (awake) {
            proxies.wake();
        }
        List<CommandProducer> producers =
                rings.stream().map(CommandProducer::new).toList();
        for (int i = 0; i < 20_000; i++) {
            for (int ring = 0; ring < count; ring++) {
                advance(producers.get(ring), ring, i);
            }
            if (i % 5000 == 0) {
                // So that threads find nothing for a while, and sleep where they may.
                sleep();
            }
        }
        Guard.until("all commands are taken", () -> rings.stream().allMatch(ring -> ring.tail() == 20_000));
        assertThat(proxies.close(DEADLINE)).isEqualTo(new ProxyThreads.Ended(List.of(), 0));
        assertThat(sink.wrong).hasValue(0);
        assertThat(sink.next).containsOnly(20_000);
        assertThat(failures).isEmpty();
    }

    private static void sleep() {
        try {
            Thread.sleep(5);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void theLoopAllocatesNothing() {
        ThreadMXBean beans = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        List<CommandRing> rings = rings(2, 1024);
        Order sink = new Order(2);
        AtomicLong polls = new AtomicLong();
        AtomicLong thread = new AtomicLong();
        AtomicReference<byte[]> allocated = new AtomicReference<>(new byte[0]);
        IntPredicate pump = index -> {
            if (polls.incrementAndGet() == 1) {
                thread.set(Thread.currentThread().getId());
                allocated.set(new byte[1 << 20]);
            }
            return false;
        };
        ProxyThreads proxies = new ProxyThreads("test-proxy", 1, rings, sink, pump, Rings.noFailures(), SPIN);
        List<CommandProducer> producers =
                rings.stream().map(CommandProducer::new).toList();
        push(producers, 0, 200_000);
        Guard.until("all commands are taken", () -> rings.stream().allMatch(ring -> ring.tail() == 200_000));
        long before = beans.getThreadAllocatedBytes(thread.get());
        push(producers, 200_000, 700_000);
        Guard.until("all commands are taken", () -> rings.stream().allMatch(ring -> ring.tail() == 700_000));
        long after = beans.getThreadAllocatedBytes(thread.get());
        proxies.close(DEADLINE);
        assertThat(before).as("what the thread allocated is known").isGreaterThanOrEqualTo(allocated.get().length);
        // A million commands and their turns: not one object each, nor one for each batch.
        assertThat(after - before).isLessThan(4096);
        assertThat(sink.wrong).hasValue(0);
    }

    private static void push(List<CommandProducer> producers, int from, int to) {
        for (int i = from; i < to; i++) {
            for (int ring = 0; ring < producers.size(); ring++) {
                advance(producers.get(ring), ring, i);
            }
        }
    }

    /** Else the counter behind a write that failed would say that the write is there. */
    @Test
    void dropsCommandsForAPeerAfterOneFailedAndServesTheOthers() {
        List<CommandRing> rings = rings(1, 64);
        List<String> reported = new CopyOnWriteArrayList<>();
        Set<Integer> advanced = ConcurrentHashMap.newKeySet();
        AtomicInteger good = new AtomicInteger();
        AtomicInteger polls = new AtomicInteger();
        CommandSink sink = new CommandSink() {
            @Override
            public void write(int ring, int peer, long target, long source, long bytes) {
                throw new StackOverflowError("lost " + peer);
            }

            @Override
            public void advance(int ring, int peer, int counter, long value) {
                advanced.add(peer);
                good.incrementAndGet();
            }
        };
        ProxyThreads proxies = new ProxyThreads(
                "test-proxy",
                1,
                rings,
                sink,
                thread -> {
                    if (polls.incrementAndGet() == 1) {
                        throw new IllegalStateException("no arrivals");
                    }
                    return false;
                },
                (failure, peer) -> {
                    reported.add(peer + " " + failure.getMessage());
                    throw new IllegalArgumentException("the listener fails too");
                },
                SPIN);
        Guard.until("the failure is reported", () -> !reported.isEmpty());
        CommandProducer producer = new CommandProducer(rings.get(0));
        for (int i = 0; i < 200; i++) {
            while (!producer.write(i, 0, 0, 16)) {
                Thread.onSpinWait();
            }
            advance(producer, i, i);
            advance(producer, 1000, i);
        }
        Guard.until("all commands are taken", () -> rings.get(0).tail() == 600);
        proxies.close(DEADLINE);
        assertThat(advanced).containsExactly(1000);
        assertThat(good).hasValue(200);
        assertThat(reported).hasSize(201).startsWith("-1 no arrivals", "0 lost 0", "1 lost 1");
    }

    @Test
    void aSinkThatDoesNotReturnIsReportedWithWhatIsLeft() {
        List<CommandRing> rings = rings(2, 64);
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        CommandSink stuck = new CommandSink() {
            @Override
            public void write(int ring, int peer, long target, long source, long bytes) {}

            @Override
            public void advance(int ring, int peer, int counter, long value) {
                inside.countDown();
                try {
                    end.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
        };
        ProxyThreads proxies = start(2, rings, stuck);
        CommandProducer producer = new CommandProducer(rings.get(0));
        producer.advance(0, 0, 1);
        Guard.until("the sink has the command", () -> inside.getCount() == 0);
        producer.advance(0, 0, 2);
        assertThatThrownBy(() -> proxies.restart(Duration.ofMillis(50)))
                .isInstanceOf(EpTimeoutException.class)
                // The other thread may be slower than that, too.
                .hasMessageMatching(
                        "(?s).*[12] of 2 threads test-proxy-\\* have not restarted their rings within 50 ms.*");
        ProxyThreads.Ended ended = proxies.close(Duration.ofMillis(50));
        assertThat(ended.running()).contains("test-proxy-0");
        assertThat(ended.left()).isEqualTo(2);
        end.countDown();
        assertThat(proxies.close(DEADLINE).running()).isEmpty();
    }

    @Test
    void aRestartRemovesAHoleInARing() {
        List<CommandRing> rings = rings(3, 4);
        Order sink = new Order(3);
        ProxyThreads proxies = start(2, rings, sink);
        rings.get(0).put(1, 5, Commands.advanceWord1(0, 0));
        proxies.restart(DEADLINE);
        assertThat(rings.get(0).left()).isZero();
        advance(new CommandProducer(rings.get(0)), 0, 0);
        Guard.until("the command is taken", () -> sink.taken == 1);
        proxies.restart(DEADLINE);
        assertThat(rings.get(0).tail()).isZero();
        proxies.close(DEADLINE);
        assertThat(sink.wrong).hasValue(0);
    }

    @Test
    void aThreadWithoutRingsPollsForArrivals() {
        AtomicInteger seen = new AtomicInteger();
        ProxyThreads proxies = new ProxyThreads(
                "test-proxy",
                3,
                rings(1, 4),
                new Order(1),
                thread -> {
                    seen.accumulateAndGet(1 << thread, (a, b) -> a | b);
                    return false;
                },
                Rings.noFailures(),
                SPIN);
        Guard.until("all threads have polled", () -> seen.get() == 7);
        assertThat(proxies.close(DEADLINE).running()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, 257})
    void otherNumbersOfThreadsAreRefused(int count) {
        assertThatThrownBy(() -> start(count, List.of(), new Order(1)))
                .isInstanceOf(EpArgumentException.class)
                .hasMessage("ep.proxy.threads is " + count + ", must be from 1 to 256; set it to such a number");
    }
}
