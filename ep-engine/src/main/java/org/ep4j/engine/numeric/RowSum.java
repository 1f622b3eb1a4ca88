package org.ep4j.engine.numeric;

import java.util.Arrays;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.rows.RowList;
import org.ep4j.engine.rows.Rows;

/**
 * Sums BF16 rows in FP32, in the order in which they are added, and rounds the sum to BF16 once. One thread at a time.
 *
 * <p>Rows are only remembered when they are added. Native code reads them, and writes the sums, of many sums at once, at the latest when
 * {@link #finish} returns. Java reads them when the sum is stored: a piece of all rows at a time, small enough that it and its sum stay
 * in the second-level cache, large enough that copying it costs more than asking for it.
 */
public final class RowSum {
    private static final int PIECE = 4096;

    /**
     * A sum reads two rows or more for each that it writes, and these fill the caches as well. Measured for two threads that share 32 MiB,
     * each with rows of 14,336 bytes: 8 MB of sums of two rows take 0.70 ms with plain stores and 0.45 ms around the caches (0.81 and 0.70
     * ms until they are read), 4 MB take the same time (0.20 and 0.27 ms until they are read).
     */
    private static final int READ = 2;

    private final RowKernels kernels = RowKernels.best();
    private final Rows natively;
    private final RowList list = new RowList();
    private final int pairs;
    private final int[] first = new int[PIECE];
    private final int[] second = new int[PIECE];
    private final int[] result = new int[PIECE];
    private final float[] even = new float[PIECE];
    private final float[] odd = new float[PIECE];
    private HostMemory[] memories = new HostMemory[8];
    private long[] offsets = new long[8];
    private float[] weights = new float[8];
    private int rows;
    private boolean weighted;
    private boolean stream;

    /** For rows of {@code hidden} channels, a multiple of 8. */
    public RowSum(int hidden, Rows natively) {
        pairs = hidden / 2;
        this.natively = natively;
    }

    /**
     * Begins sums that are stored to memory; forgets those that were not finished.
     *
     * @param bytes of all of them together, by which they are stored into the caches or around them
     */
    public void begin(long bytes) {
        list.clear();
        stream = natively.streams(READ * bytes);
    }

    /** Writes all sums that were stored to memory; whoever sees what this thread stores afterwards sees them. */
    public void finish() {
        if (list.entries() > 0) {
            natively.sum(list, 4L * pairs, stream);
            list.clear();
        }
    }

    /** Starts a new sum at +0. */
    public void clear() {
        rows = 0;
        weighted = false;
    }

    /** Adds the BF16 row at {@code offset}, which stays as it is until {@link #finish}. */
    public void add(HostMemory memory, long offset) {
        remember(memory, offset, 1f);
    }

    /**
     * Adds {@code weight * row} by fused multiply-add; the row stays as it is until {@link #finish}. All rows of a sum are
     * added with weights or none.
     */
    public void add(HostMemory memory, long offset, float weight) {
        weighted = true;
        remember(memory, offset, weight);
    }

    private void remember(HostMemory memory, long offset, float weight) {
        if (rows == memories.length) {
            memories = Arrays.copyOf(memories, 2 * rows);
            offsets = Arrays.copyOf(offsets, 2 * rows);
            weights = Arrays.copyOf(weights, 2 * rows);
        }
        memories[rows] = memory;
        offsets[rows] = offset;
        weights[rows++] = weight;
    }

    /** Rounds the sum into packed pairs, the even channel low; a sum of nothing is a row of zeros. */
    public void store(int[] row) {
        for (int from = 0; from < pairs; from += PIECE) {
            int count = Math.min(PIECE, pairs - from);
            sum(from, count);
            System.arraycopy(result, 0, row, from, count);
        }
    }

    /** Rounds the sum and writes it as a BF16 row, at the latest in {@link #finish}; a sum of nothing is a row of zeros. */
    public void store(HostMemory memory, long offset) {
        if (natively.isNative()) {
            addToList(memory.address(offset, 4L * pairs));
            return;
        }
        for (int from = 0; from < pairs; from += PIECE) {
            int count = Math.min(PIECE, pairs - from);
            sum(from, count);
            memory.putInts(offset + 4L * from, result, 0, count);
        }
    }

    private void addToList(long target) {
        if (!list.fits(3 + (weighted ? 2 * rows : rows))) {
            finish();
            list.fits(3 + 2 * rows);
        }
        list.entry().add(target).add(rows).add(weighted ? 1 : 0);
        for (int row = 0; row < rows; row++) {
            list.add(memories[row].address(offsets[row], 4L * pairs));
        }
        for (int row = 0; row < rows && weighted; row++) {
            list.add(Float.floatToRawIntBits(weights[row]));
        }
    }

    private void read(int row, int from, int count, int[] target) {
        memories[row].getInts(offsets[row] + 4L * from, target, 0, count);
    }

    private void sum(int from, int count) {
        if (rows == 2 && !weighted) {
            read(0, from, count, first);
            read(1, from, count, second);
            kernels.roundSum(first, second, count, result);
            return;
        }
        Arrays.fill(even, 0, count, 0f);
        Arrays.fill(odd, 0, count, 0f);
        int row = 0;
        for (; row + 1 < rows; row += 2) {
            read(row, from, count, first);
            read(row + 1, from, count, second);
            if (weighted) {
                kernels.fma(first, weights[row], second, weights[row + 1], count, even, odd);
            } else {
                kernels.add(first, second, count, even, odd);
            }
        }
        if (row < rows) {
            read(row, from, count, first);
            if (weighted) {
                kernels.fma(first, weights[row], count, even, odd);
            } else {
                kernels.add(first, count, even, odd);
            }
        }
        kernels.round(even, odd, count, result);
    }
}
