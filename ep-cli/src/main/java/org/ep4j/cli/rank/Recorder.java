package org.ep4j.cli.rank;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** Times operations on one rank, all ranks starting together. Not safe for use from several threads. */
final class Recorder {
    /**
     * What an operation moves to one rank.
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

    private static final class Series {
        private final List<Long> nanos = new ArrayList<>();
        private final List<Long> rows = new ArrayList<>();
        private final List<Long> own = new ArrayList<>();
        private long rowBytes;
    }

    private final Meeting barrier;
    private final Map<String, Series> series = new LinkedHashMap<>();
    private boolean counting;

    Recorder(Meeting barrier) {
        this.barrier = barrier;
    }

    /** From now on, or not, measurements are kept. */
    void counting(boolean on) {
        counting = on;
    }

    /** Waits until all ranks are ready, and returns the time at which the last one was. */
    long meet() {
        return barrier.await();
    }

    /**
     * Runs an operation, and measures from when all ranks are ready until this rank is done. So the time that a rank waits for a
     * processor, where there are more ranks than processors, is part of it.
     */
    <T> T time(String operation, Volume volume, Supplier<T> action) {
        long start = meet();
        T result = action.get();
        long nanos = System.nanoTime() - start;
        if (counting) {
            Series kept = series.computeIfAbsent(operation, name -> new Series());
            kept.nanos.add(nanos);
            kept.rows.add(volume.rows());
            kept.own.add(volume.own());
            kept.rowBytes = volume.rowBytes();
        }
        return result;
    }

    /** As above, for an action without a result. */
    void time(String operation, Volume volume, Runnable action) {
        time(operation, volume, () -> {
            action.run();
            return true;
        });
    }

    /** What was kept, in the order in which the operations first came. */
    List<RankMessage.Samples> samples() {
        List<RankMessage.Samples> all = new ArrayList<>();
        series.forEach(
                (name, kept) -> all.add(new RankMessage.Samples(name, kept.nanos, kept.rows, kept.own, kept.rowBytes)));
        return all;
    }
}
