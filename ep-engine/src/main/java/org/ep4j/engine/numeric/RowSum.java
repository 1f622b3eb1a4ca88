package org.ep4j.engine.numeric;

import java.util.Arrays;
import org.ep4j.engine.rows.RowList;
import org.ep4j.engine.rows.Rows;
import org.ep4j.transport.memory.HostMemory;

/**
 * Sums BF16 rows in FP32, in the order in which they are added, and rounds the sum to BF16 once. One thread at a time.
 *
 * <p>Adding a row only records it. Native code reads the rows and writes the sums, many at once, at the latest when {@link #finish}
 * returns. Java reads the rows when the sum is stored: a piece of all rows at a time, small enough that it and its sum stay in the
 * second-level cache, large enough that the copy takes longer than the call.
 */
public final class RowSum {
    private static final int PIECE = 4096;

    private final RowKernels kernels = RowKernels.best();
    private final Rows rows;
    private final RowList list = new RowList();
    private final int pairs;
    private final int[] first = new int[PIECE];
    private final int[] second = new int[PIECE];
    private final int[] result = new int[PIECE];
    private final float[] even = new float[PIECE];
    private final float[] odd = new float[PIECE];
    private HostMemory[] memories = new HostMemory[8];
    private long[] offsets = new long[8];
    private long[] addresses = new long[8];
    private float[] weights = new float[8];
    private int count;
    private boolean weighted;
    private boolean nonTemporal;

    /** For rows of {@code hidden} channels, a multiple of 16. */
    public RowSum(int hidden, Rows rows) {
        pairs = hidden / 2;
        this.rows = rows;
    }

    /** Begins a step of an operation with about {@code count} sums, which chooses between plain and non-temporal stores. */
    public void begin(long count) {
        list.clear();
        nonTemporal = rows.isLarge(count * 4L * pairs);
    }

    /** Writes all sums that were stored to memory; threads that see what this thread stores later see them too. */
    public void finish() {
        if (list.entries() > 0) {
            rows.sum(list, 4L * pairs, nonTemporal);
            list.clear();
        }
    }

    /** Starts a new sum at +0. */
    public void clear() {
        count = 0;
        weighted = false;
    }

    /**
     * Adds the BF16 row at {@code offset}, which stays as it is until {@link #finish}.
     *
     * @throws IndexOutOfBoundsException when not all of the row is inside the memory; the sum is then as before
     */
    public void add(HostMemory memory, long offset) {
        record(memory, offset, 1f);
    }

    /**
     * Adds {@code weight * row} by fused multiply-add; the row stays as it is until {@link #finish}. All rows of a sum are
     * added with weights or none.
     *
     * @throws IndexOutOfBoundsException when not all of the row is inside the memory; the sum is then as before
     */
    public void add(HostMemory memory, long offset, float weight) {
        record(memory, offset, weight);
        weighted = true;
    }

    private void record(HostMemory memory, long offset, float weight) {
        long address = memory.address(offset, 4L * pairs);
        if (count == memories.length) {
            memories = Arrays.copyOf(memories, 2 * count);
            offsets = Arrays.copyOf(offsets, 2 * count);
            addresses = Arrays.copyOf(addresses, 2 * count);
            weights = Arrays.copyOf(weights, 2 * count);
        }
        memories[count] = memory;
        offsets[count] = offset;
        addresses[count] = address;
        weights[count++] = weight;
    }

    /** Rounds the sum into packed pairs, the even channel low; a sum of nothing is a row of zeros. */
    public void store(int[] row) {
        for (int from = 0; from < pairs; from += PIECE) {
            int length = Math.min(PIECE, pairs - from);
            sum(from, length);
            System.arraycopy(result, 0, row, from, length);
        }
    }

    /**
     * Rounds the sum and writes it as a BF16 row, at the latest in {@link #finish}; a sum of nothing is a row of zeros.
     *
     * @throws IndexOutOfBoundsException when not all of the row is inside the memory; nothing is then written
     */
    public void store(HostMemory memory, long offset) {
        long target = memory.address(offset, 4L * pairs);
        if (rows.isNative()) {
            list(target);
            return;
        }
        for (int from = 0; from < pairs; from += PIECE) {
            int length = Math.min(PIECE, pairs - from);
            sum(from, length);
            memory.putInts(offset + 4L * from, result, 0, length);
        }
    }

    /** Adds the sum to the list for native code. */
    private void list(long target) {
        int words = 3 + (weighted ? 2 * count : count);
        if (list.isFull(words)) {
            finish();
        }
        list.entry(words).add(target).add(count).add(weighted ? 1 : 0);
        for (int row = 0; row < count; row++) {
            list.add(addresses[row]);
        }
        for (int row = 0; row < count && weighted; row++) {
            list.add(Float.floatToRawIntBits(weights[row]));
        }
    }

    private void read(int row, int from, int length, int[] target) {
        memories[row].getInts(offsets[row] + 4L * from, target, 0, length);
    }

    private void sum(int from, int length) {
        if (count == 2 && !weighted) {
            read(0, from, length, first);
            read(1, from, length, second);
            kernels.roundSum(first, second, length, result);
            return;
        }
        Arrays.fill(even, 0, length, 0f);
        Arrays.fill(odd, 0, length, 0f);
        int row = 0;
        for (; row + 1 < count; row += 2) {
            read(row, from, length, first);
            read(row + 1, from, length, second);
            if (weighted) {
                kernels.fma(first, weights[row], second, weights[row + 1], length, even, odd);
            } else {
                kernels.add(first, second, length, even, odd);
            }
        }
        if (row < count) {
            read(row, from, length, first);
            if (weighted) {
                kernels.fma(first, weights[row], length, even, odd);
            } else {
                kernels.add(first, length, even, odd);
            }
        }
        kernels.round(even, odd, length, result);
    }
}
