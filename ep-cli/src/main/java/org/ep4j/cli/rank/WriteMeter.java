package org.ep4j.cli.rank;

import java.time.Duration;
import java.util.Arrays;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.memory.HostMemory;

/**
 * Counted writes from one rank to another, and back. Each side writes from the first half of its memory to the second half of
 * the other's. For one thread.
 */
final class WriteMeter {
    private static final int COUNTER = 0;
    private static final Duration DEADLINE = Duration.ofMinutes(2);

    /** Bytes below which a write stands for low latency, which sends a row or a few at once. */
    private static final int LOW_LATENCY = 64 << 10;

    /** Polls of a counter before other threads may have the CPU core: the write may depend on them. */
    private static final int POLLS = 1 << 10;

    private final HostPosted posted;
    private final HostMemory memory;
    private final int peer;
    private final long half;
    private long sent;
    private long awaited;

    /** Writes to one peer from {@code memory} of this rank, which is twice as large as the largest write. */
    WriteMeter(HostPosted posted, HostMemory memory, int peer) {
        this.posted = posted;
        this.memory = memory;
        this.peer = peer;
        this.half = memory.size() / 2;
    }

    /** Puts values that depend on {@code seed} into the memory that writes are sent from. */
    void fill(long seed, int bytes) {
        for (int i = 0; i < bytes; i += 8) {
            memory.putLong(i, value(seed, i));
        }
    }

    /** Returns the first difference between the values of {@link #fill} on the peer and the values that arrived; empty if there is none. */
    String difference(long seed, int bytes) {
        for (int i = 0; i < bytes; i += 8) {
            long found = memory.getLong(half + i);
            if (found != value(seed, i)) {
                return "byte " + i + " of " + bytes + ": found 0x" + Long.toHexString(found) + ", must be 0x"
                        + Long.toHexString(value(seed, i));
            }
        }
        return "";
    }

    private static long value(long seed, int at) {
        return (seed + at) * 0x9E3779B97F4A7C15L;
    }

    /** Posts writes; returns the time until all of them have been acknowledged. */
    long stream(int bytes, int writes, int writesPerCounter) {
        long start = System.nanoTime();
        for (int i = 1; i <= writes; i++) {
            write(bytes);
            if (i % writesPerCounter == 0 || i == writes) {
                posted.signal(peer, COUNTER, ++sent);
            }
        }
        flush();
        return System.nanoTime() - start;
    }

    /** Waits for what {@link #stream} sends with the same arguments. */
    void awaitStream(int writes, int writesPerCounter) {
        awaited += (writes + writesPerCounter - 1) / writesPerCounter;
        await();
    }

    /** Makes round trips of one counted write each way, and returns half of their times, in nanoseconds, ascending. */
    long[] ping(int bytes, int count) {
        long[] nanos = new long[count];
        long before = System.nanoTime();
        for (int i = 0; i < count; i++) {
            send(bytes);
            awaited++;
            await();
            long now = System.nanoTime();
            nanos[i] = (now - before) / 2;
            before = now;
        }
        flush();
        Arrays.sort(nanos);
        return nanos;
    }

    /** The other end of {@link #ping}. */
    void pong(int bytes, int count) {
        for (int i = 0; i < count; i++) {
            awaited++;
            await();
            send(bytes);
        }
        flush();
    }

    /** Posts a write in the mode in which the engine posts writes of its size. */
    private void write(int bytes) {
        if (bytes < LOW_LATENCY) {
            posted.putMessage(peer, half, 0, bytes);
        } else {
            posted.put(peer, half, 0, bytes);
        }
    }

    private void flush() {
        posted.flush(peer, System.nanoTime() + DEADLINE.toNanos());
    }

    private void send(int bytes) {
        write(bytes);
        posted.signal(peer, COUNTER, ++sent);
    }

    // Ranks, compilers and the system's own work may share few processors.
    @SuppressWarnings("ThreadPriorityCheck")
    private void await() {
        long end = 0;
        for (int polls = 1; posted.counter(COUNTER, peer) < awaited; polls++) {
            if (polls % POLLS == 0) {
                Thread.yield();
                long now = System.nanoTime();
                end = end == 0 ? now + DEADLINE.toNanos() : end;
                if (now - end > 0) {
                    throw new EpTimeoutException(
                            "after " + DEADLINE.toSeconds() + " s of waiting, the counter of rank " + peer + " is "
                                    + posted.counter(COUNTER, peer) + ", must be " + awaited
                                    + "; check whether rank " + peer + " still runs",
                            EpFailure.builder("counted writes", peer)
                                    .expected(awaited)
                                    .seen(posted.counter(COUNTER, peer))
                                    .build());
                }
            }
            Thread.onSpinWait();
        }
    }
}
