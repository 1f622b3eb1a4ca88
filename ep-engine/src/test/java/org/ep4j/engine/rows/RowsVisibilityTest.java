package org.ep4j.engine.rows;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Whoever acquires a counter that was released after rows sees these rows, though a release does not order non-temporal stores. Most
 * JVMs have a fence of their own after native code; {@code rows_check.cpp} checks the same without one.
 */
@Tag("verify")
class RowsVisibilityTest {
    private static final long NANOS = Duration.ofMillis(150).toNanos();

    private static final int ROW = 384;

    /** Some rows begin inside a cache line, so that parts of lines stay in the processor for longest. */
    private static final long STRIDE = ROW + 96;

    private static final int SLOTS = 8;

    /** Kinds of rows; no multiple of the number of slots, so that two rows of one slot differ. */
    private static final int PATTERNS = 101;

    private static final long SENT = 0;
    private static final long SEEN = 4096;
    private static final long FIRST = 8192;

    private final HostMemory memory = RowsForTests.memory(FIRST + SLOTS * STRIDE);
    private final HostMemory source = RowsForTests.memory(ROW);

    private static long slot(long number) {
        return FIRST + number % SLOTS * STRIDE;
    }

    /** Two equal numbers of BF16 between 1 and 2. */
    private static int pattern(long number) {
        int bits = 0x3f80 + (int) (number % PATTERNS);
        return bits | bits << 16;
    }

    private void send(long end, Consumer<Long> store) {
        int[] row = new int[ROW / 4];
        for (long number = 1; System.nanoTime() < end; number++) {
            while (memory.getLongAcquire(SEEN) < number - SLOTS / 2) {
                Thread.onSpinWait();
            }
            Arrays.fill(row, pattern(number));
            source.putInts(0, row, 0, row.length);
            store.accept(number);
            memory.putLongRelease(SENT, number);
        }
        memory.putLongRelease(SENT, Long.MAX_VALUE);
    }

    /** Counts the rows that were not there when their number was. */
    private long receive() {
        int[] row = new int[ROW / 4];
        long missing = 0;
        for (long number = 1; ; number++) {
            long sent = memory.getLongAcquire(SENT);
            while (sent < number) {
                Thread.onSpinWait();
                sent = memory.getLongAcquire(SENT);
            }
            if (sent == Long.MAX_VALUE) {
                return missing;
            }
            memory.getInts(slot(number), row, 0, row.length);
            boolean whole = true;
            for (int word : row) {
                whole &= word == pattern(number);
            }
            missing += whole ? 0 : 1;
            memory.putLongRelease(SEEN, number);
        }
    }

    private void check(Rows rows, String what, Consumer<Long> store) throws Exception {
        memory.putLong(SENT, 0);
        memory.putLong(SEEN, 0);
        ExecutorService receiver = Executors.newSingleThreadExecutor();
        try {
            Future<Long> missing = receiver.submit(this::receive);
            send(System.nanoTime() + NANOS, store);
            assertThat(missing.get(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .as("%s of %s that were not visible", what, rows.description())
                    .isZero();
        } finally {
            receiver.shutdownNow();
        }
    }

    @Test
    void copiesAreVisibleBeforeWhatIsReleasedAfterThem() throws Exception {
        for (Rows rows : RowsForTests.nonTemporal()) {
            RowCopies copies = new RowCopies(rows);
            check(rows, "copies", number -> {
                copies.begin();
                copies.add(memory, slot(number), source, 0, ROW);
                copies.finish();
            });
        }
    }

    @Test
    void sumsAreVisibleBeforeWhatIsReleasedAfterThem() throws Exception {
        for (Rows rows : RowsForTests.nonTemporal()) {
            RowSum sum = new RowSum(ROW / 2, rows);
            check(rows, "sums", number -> {
                sum.begin();
                sum.clear();
                sum.add(source, 0);
                sum.store(memory, slot(number));
                sum.finish();
            });
        }
    }
}
