package org.ep4j.cli.rank;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.ep4j.cli.rank.RankMessage.Samples;

/** Times operations on one rank, all ranks starting together. Not safe for use from several threads. */
final class Recorder {
    /**
     * Rows that an operation moves to one rank.
     *
     * @param rows rows that it receives
     * @param own those of them that come from the rank itself
     * @param rowBytes bytes of one
     */
    record Volume(long rows, long own, long rowBytes) {
        long bytes() {
            return rows * rowBytes;
        }
    }

    private final LongSupplier barrier;
    private final HeapBytes heap = new HeapBytes();
    private final Map<String, Samples> samples = new LinkedHashMap<>();
    private boolean counting;
    private boolean allocating;

    /** Makes a recorder whose ranks start together at {@link SpinBarrier#of}. */
    Recorder(LongSupplier barrier) {
        this.barrier = barrier;
    }

    /** Says whether the measurements that follow are kept. */
    void counting(boolean on) {
        counting = on;
        allocating = false;
    }

    /** Keeps what the operations that follow allocate, and not their times, which reading it would make longer. */
    void allocations() {
        counting = false;
        allocating = true;
    }

    boolean isAllocating() {
        return allocating;
    }

    /** Waits until all ranks are ready, and returns the time at which the last one was. */
    long awaitStart() {
        return barrier.getAsLong();
    }

    /**
     * Runs an operation, and measures from when all ranks are ready until this rank is done. So the time that a rank waits for a
     * processor, where there are more ranks than processors, is part of it.
     */
    <T> T time(String operation, Volume volume, Supplier<T> action) {
        long start = awaitStart();
        if (allocating) {
            long before = heap.soFar();
            T result = action.get();
            long bytes = heap.soFar() - before;
            kept(operation, volume).allocatedBytes().add(bytes);
            return result;
        }
        T result = action.get();
        long nanos = System.nanoTime() - start;
        if (counting) {
            Samples kept = kept(operation, volume);
            kept.nanos().add(nanos);
            kept.rows().add(volume.rows());
            kept.ownRows().add(volume.own());
        }
        return result;
    }

    private Samples kept(String operation, Volume volume) {
        return samples.computeIfAbsent(
                operation,
                name -> new Samples(
                        name,
                        new ArrayList<>(),
                        new ArrayList<>(),
                        new ArrayList<>(),
                        volume.rowBytes(),
                        new ArrayList<>()));
    }

    /** Runs and measures an operation without a result. */
    void time(String operation, Volume volume, Runnable action) {
        time(operation, volume, () -> {
            action.run();
            return true;
        });
    }

    /** Returns what was kept, in the order in which the operations were first measured. */
    List<Samples> samples() {
        return List.copyOf(samples.values());
    }
}
