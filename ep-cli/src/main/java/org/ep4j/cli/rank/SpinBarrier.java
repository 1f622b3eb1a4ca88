package org.ep4j.cli.rank;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.ep4j.EpFailure;
import org.ep4j.EpGroup;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;

/**
 * Lets ranks of one machine leave a point within a fraction of a microsecond, so that a measurement begins on all of them
 * at once: one counter for each rank in a mapped file, polled by the others. It is no part of what is measured. Ranks may be processes:
 * {@link System#nanoTime} counts from the same moment in all processes of a machine (CLOCK_MONOTONIC of Linux), unless they are in different
 * time namespaces.
 */
public final class SpinBarrier {
    /** Counters lie apart, so that no two share a cache line or a pair of them. */
    private static final int SPACING = 256;

    /**
     * Offset of two arrival times, which follow the counter: of the last even and the last odd epoch. A rank arrives at epoch n + 2, and
     * overwrites the time of epoch n, only after all have left n.
     */
    private static final int TIMES = 8;

    private static final int SPINS = 20_000;

    /** Time between two checks for lost ranks, which cost more than a spin. */
    private static final long CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private static final VarHandle COUNTER =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final ByteBuffer counters;
    private final int rank;
    private final int ranks;
    private final int spins;
    private final Duration deadline;
    private final Supplier<Set<Integer>> lost;
    private long epoch;

    private SpinBarrier(ByteBuffer counters, int rank, int ranks, Duration deadline, Supplier<Set<Integer>> lost) {
        this.counters = counters;
        this.rank = rank;
        this.ranks = ranks;
        // Where ranks share a processor, a rank that spins keeps the one that it waits for from running.
        this.spins = ranks <= Runtime.getRuntime().availableProcessors() ? SPINS : 1;
        this.deadline = deadline;
        this.lost = lost;
    }

    /**
     * Returns the barrier at which the ranks of a group wait for each other before a measurement. It gives the time at which the last
     * rank arrived, by this process's {@link System#nanoTime}.
     *
     * @param file shared by all ranks; empty where they are not all on one machine, and then they exchange messages, which lets
     *     them go less sharply, each with a time of its own
     */
    public static LongSupplier of(String file, EpGroup group, Duration deadline) {
        return file.isEmpty()
                ? () -> {
                    group.barrier(deadline);
                    return System.nanoTime();
                }
                : open(Path.of(file), group.rank(), group.size(), deadline, group::lostRanks)::await;
    }

    /**
     * Opens the file, which all ranks share; it may be empty.
     *
     * @param deadline for the wait for one rank
     * @param lost gives the ranks that no longer arrive; polled while this one waits
     */
    public static SpinBarrier open(Path file, int rank, int ranks, Duration deadline, Supplier<Set<Integer>> lost) {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE)) {
            MappedByteBuffer mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) ranks * SPACING);
            return new SpinBarrier(mapped.order(ByteOrder.nativeOrder()), rank, ranks, deadline, lost);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until all ranks have called this, and returns the time at which the last of them did. */
    @SuppressWarnings(
            "ThreadPriorityCheck") // nothing depends on the yield; without it fewer processors than ranks crawl
    public long await() {
        epoch++;
        int time = TIMES + (int) (epoch & 1) * Long.BYTES;
        long start = System.nanoTime();
        counters.putLong(rank * SPACING + time, start);
        COUNTER.setRelease(counters, rank * SPACING, epoch);
        long last = start;
        long check = start + CHECK_NANOS;
        for (int other = 0; other < ranks; other++) {
            int turns = 0;
            while ((long) COUNTER.getAcquire(counters, other * SPACING) < epoch) {
                if (++turns < spins) {
                    Thread.onSpinWait();
                } else {
                    Thread.yield();
                    long now = System.nanoTime();
                    if (now - check > 0) {
                        checkAlive(other);
                        check = now + CHECK_NANOS;
                    }
                    checkDeadline(now - start, other);
                }
            }
            long arrival = counters.getLong(other * SPACING + time);
            if (arrival - last > 0) {
                last = arrival;
            }
        }
        return last;
    }

    private void checkAlive(int other) {
        if (lost.get().contains(other)) {
            throw new EpPeerLostException(
                    "rank " + other + " is lost and did not reach the measurement; the output of rank " + other
                            + " may show why",
                    EpFailure.builder("measurement", other).build());
        }
    }

    private void checkDeadline(long waited, int other) {
        if (waited > deadline.toNanos()) {
            throw new EpTimeoutException(
                    "rank " + other + " did not reach the measurement within " + deadline + "; the output of rank "
                            + other + " may show what rank " + other + " waits for",
                    EpFailure.builder("measurement", other)
                            .expected(epoch)
                            .seen((long) COUNTER.getAcquire(counters, other * SPACING))
                            .build());
        }
    }
}
