package org.ep4j.engine.rows;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.ep4j.engine.numeric.Fp8Rows;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;

/**
 * Times what one rank of two does with 1,024 tokens of 7,168 channels: 2,041 rows copied as by a dispatch, 1,020 sums of two rows as by a
 * combine, and 1,024 rows cast to FP8, in every way that this processor has. Best and median of 25, in microseconds. Start it with
 * {@code --add-modules jdk.incubator.vector}, also with two processes at once, as two ranks are.
 */
final class RowsCost {
    private static final int HIDDEN = 7168;
    private static final long ROW = 2L * HIDDEN;
    private static final int TOKENS = 1024;
    private static final int ROWS = 2041;
    private static final int RUNS = 25;

    private final HostMemory x = memory(TOKENS * ROW);
    private final HostMemory received = memory(ROWS * ROW);
    private final int[] sources = new Random(7).ints(ROWS, 0, TOKENS).toArray();

    private static HostMemory memory(long bytes) {
        HostMemory memory = HostMemory.of(new HostDevice().allocate(bytes).memory());
        for (long i = 0; i < bytes; i += 4) {
            memory.putInt(i, 0x3f803f80);
        }
        return memory;
    }

    private static String time(Runnable work) {
        long[] nanos = new long[RUNS];
        for (int run = 0; run < RUNS; run++) {
            long start = System.nanoTime();
            work.run();
            nanos[run] = System.nanoTime() - start;
        }
        Arrays.sort(nanos);
        return String.format("%7d %7d", nanos[0] / 1000, nanos[RUNS / 2] / 1000);
    }

    private void dispatch(RowCopies copies) {
        copies.begin(ROWS * ROW);
        for (int i = 0; i < ROWS; i++) {
            copies.add(received, i * ROW, x, sources[i] * ROW, ROW);
        }
        copies.finish();
    }

    private void combine(RowSum sum) {
        sum.begin(ROWS / 2);
        for (int t = 0; t < ROWS / 2; t++) {
            sum.clear();
            sum.add(received, 2L * t * ROW);
            sum.add(received, (2L * t + 1) * ROW);
            sum.store(x, t * ROW);
        }
        sum.finish();
    }

    private void cast(Fp8Rows rows) {
        for (int t = 0; t < TOKENS; t++) {
            rows.cast(x, t * ROW, received, t * ROW, false);
        }
    }

    public static void main(String[] arguments) {
        RowsCost cost = new RowsCost();
        List<String> all = new ArrayList<>(List.of("java"));
        if (Rows.problem().isEmpty()) {
            Rows.natives().forEach(v -> all.add(v.variant().setting()));
        }
        for (String variant : all) {
            for (String nonTemporalBytes : variant.equals("java") ? new String[] {"1T"} : new String[] {"1T", "1"}) {
                Rows rows = RowsForTests.of(variant, nonTemporalBytes);
                RowCopies copies = new RowCopies(rows);
                RowSum sum = new RowSum(HIDDEN, rows);
                Fp8Rows fp8 = new Fp8Rows(HIDDEN, rows);
                System.out.printf(
                        "%-34s copy %s   sum %s   cast %s%n",
                        rows.description() + (rows.isLarge(ROW) ? ", non-temporal" : ""),
                        time(() -> cost.dispatch(copies)),
                        time(() -> cost.combine(sum)),
                        time(() -> cost.cast(fp8)));
            }
        }
    }
}
