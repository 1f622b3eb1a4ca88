package org.ep4j.cli.rank;

import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.DataType;
import org.ep4j.EpConfig;
import org.ep4j.cli.rank.RowStep.Kind;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.numeric.Fp8Rows;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.engine.rows.RowCopies;
import org.ep4j.engine.rows.Rows;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.transport.memory.HostMemory;

/**
 * The ceiling of operations on a host: what they do with rows, done by every rank in memory of its own, without a peer to
 * wait for. It is done in several ways, and the fastest is the ceiling. Rows come from, and go to, memory that is larger than
 * the caches, and is used in turn.
 */
final class HostCeiling {
    /** Size of each memory area: several times the last-level cache that the ranks of common processors share. */
    static final long AREA_BYTES = 128L << 20;

    private static final float WEIGHT = 0.125f;

    private enum Store {
        /** With plain stores, row by row. */
        PLAIN("plain"),
        /** With non-temporal stores, row by row. */
        NON_TEMPORAL("non-temporal"),
        /** All rows in one copy, from as many rows: a C library avoids to read the target when a copy is large. */
        ONE_COPY("in one copy");

        private final String text;

        Store(String text) {
            this.text = text;
        }
    }

    /** Loops over rows with one kind of stores. */
    private record Loops(RowCopies copies, RowSum sum, Fp8Rows casts) {
        static Loops of(Rows rows, int hidden) {
            return new Loops(new RowCopies(rows), new RowSum(hidden, rows), new Fp8Rows(hidden, rows));
        }
    }

    /** Memory whose rows are used one after the other, from the first again after the last. */
    private static final class Area {
        private final Arena arena;
        private HostMemory memory;
        private long next;

        Area(Arena arena, long bytes) {
            this.arena = arena;
            memory = filled(bytes);
        }

        /** BF16 numbers between 1 and 2, since infinities and NaN may take longer to sum. */
        private HostMemory filled(long bytes) {
            HostMemory filled = HostMemory.of(arena.allocate(DataType.BF16, bytes / DataType.BF16.bytes(1))
                    .memory());
            ThreadLocalRandom random = ThreadLocalRandom.current();
            int[] page =
                    random.ints(1024).map(i -> (i & 0x007f007f) | 0x3f803f80).toArray();
            long pageBytes = 4L * page.length;
            for (long at = 0; at < bytes; at += pageBytes) {
                filled.putInts(at, page, 0, (int) Math.min(page.length, (bytes - at) / 4));
            }
            return filled;
        }

        /** Takes a range of bytes; larger memory replaces what is too small for it. */
        long take(long bytes) {
            if (bytes > memory.size()) {
                memory = filled((bytes + bytes / 4 + 63) / 64 * 64);
                next = 0;
            }
            if (bytes > memory.size() - next) {
                next = 0;
            }
            long taken = next;
            next += (bytes + 63) / 64 * 64;
            return taken;
        }
    }

    private final Loops plain;
    private final Loops nonTemporal;
    private final boolean inNativeCode;
    private final long rowBytes;
    private final Area source;
    private final Area target;

    /**
     * Allocates the memory.
     *
     * @param hidden channels of a row
     * @param areaBytes {@link #AREA_BYTES}, but for tests
     */
    HostCeiling(Arena arena, int hidden, long areaBytes) {
        Rows rows = rows("1TiB");
        inNativeCode = rows.isNative();
        plain = Loops.of(rows, hidden);
        nonTemporal = Loops.of(rows("0"), hidden);
        rowBytes = 2L * hidden;
        source = new Area(arena, areaBytes);
        target = new Area(arena, areaBytes);
    }

    /** The memory that rows are written to. */
    HostMemory target() {
        return target.memory;
    }

    /** The fastest loops of this machine, whatever the ranks are to use. */
    private static Rows rows(String nonTemporalBytes) {
        EpConfig fastest = EpConfig.builder()
                .set(EpKeys.HOST_ROWS.name(), "auto")
                .set(EpKeys.HOST_NON_TEMPORAL_BYTES.name(), nonTemporalBytes)
                .build();
        return Rows.of(fastest);
    }

    /**
     * Measures steps in every way, in a series for each. A step reads what the steps before it have written, as far as
     * that goes, and other memory from there on.
     */
    void measure(Recorder recorder, String operation, Recorder.Volume volume, List<RowStep> steps) {
        for (List<Store> way : ways(steps)) {
            long from = source.take(steps.stream().mapToLong(this::readBytes).sum());
            long to = target.take(
                    steps.stream().mapToLong(s -> s.written() * s.rowBytes()).sum());
            recorder.time(
                    operation + Operations.CEILING + describe(steps, way), volume, () -> run(steps, way, from, to));
        }
    }

    private long readBytes(RowStep step) {
        return step.kind() == Kind.COPY ? step.written() * step.rowBytes() : step.read() * rowBytes;
    }

    private static String describe(List<RowStep> steps, List<Store> way) {
        return IntStream.range(0, way.size())
                .mapToObj(i -> steps.get(i).name() + " " + way.get(i).text)
                .collect(Collectors.joining(", "));
    }

    /** Every combination of stores, and one copy of all rows where there is nothing but copies. */
    private List<List<Store>> ways(List<RowStep> steps) {
        List<List<Store>> ways = List.of(List.of());
        for (RowStep step : steps) {
            boolean both = inNativeCode && step.kind() != Kind.CAST;
            List<Store> stores = both ? List.of(Store.PLAIN, Store.NON_TEMPORAL) : List.of(Store.PLAIN);
            ways = ways.stream()
                    .flatMap(way -> stores.stream()
                            .map(store -> Stream.concat(way.stream(), Stream.of(store))
                                    .toList()))
                    .collect(Collectors.toList());
        }
        if (steps.size() == 1 && steps.get(0).kind() == Kind.COPY) {
            ways.add(List.of(Store.ONE_COPY));
        }
        return ways;
    }

    /** Places of the rows that the next step reads and writes. */
    private final class Cursor {
        private final long start;
        private long fresh;
        private long passed;
        private long written;
        private long end;

        Cursor(long from, long to) {
            fresh = from;
            start = to;
            end = to;
        }

        /** Begins a step, which reads what those before it have written. */
        void begin() {
            passed = start;
            written = end;
        }

        /** Finds the next row of the step, and gives it to the reader. */
        void read(long bytes, Reader reader) {
            if (passed + bytes <= written) {
                reader.row(target.memory, passed);
                passed += bytes;
            } else {
                reader.row(source.memory, fresh);
                fresh += bytes;
            }
        }

        long write(long bytes) {
            long at = end;
            end += bytes;
            return at;
        }
    }

    /** Work on one row. */
    private interface Reader {
        void row(HostMemory memory, long offset);
    }

    private void run(List<RowStep> steps, List<Store> way, long from, long to) {
        Cursor cursor = new Cursor(from, to);
        for (int i = 0; i < steps.size(); i++) {
            cursor.begin();
            Loops loops = way.get(i) == Store.NON_TEMPORAL ? nonTemporal : plain;
            RowStep step = steps.get(i);
            switch (step.kind()) {
                case COPY -> copy(step, loops, way.get(i) == Store.ONE_COPY, cursor);
                case SUM, WEIGHTED_SUM -> sum(step, loops, cursor);
                case CAST -> cast(step, loops, cursor);
            }
        }
    }

    private void copy(RowStep step, Loops loops, boolean atOnce, Cursor cursor) {
        long bytes = step.rowBytes();
        loops.copies.begin(step.written() * bytes);
        if (atOnce) {
            long all = step.written() * bytes;
            cursor.read(all, (memory, at) -> loops.copies.add(target.memory, cursor.write(all), memory, at, all));
        } else {
            for (int count : step.counts()) {
                cursor.read(bytes, (memory, at) -> {
                    for (int copy = 0; copy < count; copy++) {
                        loops.copies.add(target.memory, cursor.write(bytes), memory, at, bytes);
                    }
                });
            }
        }
        loops.copies.finish();
    }

    private void sum(RowStep step, Loops loops, Cursor cursor) {
        RowSum sum = loops.sum;
        sum.begin(step.written());
        for (int count : step.counts()) {
            sum.clear();
            for (int row = 0; row < count; row++) {
                cursor.read(rowBytes, (memory, at) -> {
                    if (step.kind() == Kind.WEIGHTED_SUM) {
                        sum.add(memory, at, WEIGHT);
                    } else {
                        sum.add(memory, at);
                    }
                });
            }
            sum.store(target.memory, cursor.write(rowBytes));
        }
        sum.finish();
    }

    private void cast(RowStep step, Loops loops, Cursor cursor) {
        for (int row = 0; row < step.read(); row++) {
            cursor.read(
                    rowBytes,
                    (memory, at) -> loops.casts.cast(memory, at, target.memory, cursor.write(step.rowBytes()), false));
        }
    }
}
