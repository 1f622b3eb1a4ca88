package org.ep4j.cli.fifo;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.ep4j.EpException;
import org.ep4j.engine.proxy.CommandRing;
import org.ep4j.engine.proxy.CommandRing.CommandSink;
import org.ep4j.engine.proxy.ProxyThreads;
import org.ep4j.transport.memory.HostMemory;

/** The threads of production with a sink that adds up. */
final class JavaProxies implements Consumers.Running, CommandSink {
    /** Between the sums of two rings, which may belong to two threads. */
    private static final int STRIDE = 16;

    private static final Duration DEADLINE = Duration.ofSeconds(20);

    private final HostMemory memory;
    private final long[] sums;
    private final ProxyThreads threads;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    JavaProxies(RingMemory ringMemory, int count, int rings) {
        this.memory = ringMemory.memory();
        this.sums = new long[STRIDE * (rings + 1)];
        List<CommandRing> all =
                IntStream.range(0, rings).mapToObj(ringMemory::ring).toList();
        this.threads = new ProxyThreads(
                "ep-fifo-proxy",
                count,
                all,
                this,
                thread -> false,
                (thrown, peer) -> failure.compareAndSet(null, thrown),
                Duration.ofNanos(50_000));
        threads.wake();
    }

    @Override
    public void write(int ring, int peer, long target, long source, long bytes) {
        sums[ring * STRIDE] += Pattern.ofWrite(peer, target, source, bytes);
    }

    @Override
    public void advance(int ring, int peer, int counter, long value) {
        if (counter == Pattern.PING_COUNTER) {
            memory.putLongRelease(RingMemory.ANSWER, value);
        } else {
            sums[ring * STRIDE] += Pattern.ofAdvance(peer, counter, value);
        }
    }

    @Override
    public long close() {
        ProxyThreads.Ended ended = threads.close(DEADLINE);
        Optional.ofNullable(failure.get()).ifPresent(e -> {
            throw new EpException("a proxy thread has failed: " + e, e);
        });
        if (!ended.running().isEmpty()) {
            throw new EpException("proxy threads " + ended.running() + " have not ended within " + DEADLINE.toSeconds()
                    + " s; run jstack to see where they wait");
        }
        return LongStream.of(sums).sum();
    }
}
