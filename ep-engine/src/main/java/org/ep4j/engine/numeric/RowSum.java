package org.ep4j.engine.numeric;

import java.util.Arrays;
import org.ep4j.engine.memory.HostMemory;

/**
 * Sums BF16 rows in FP32, in the order in which they are added, and rounds the sum to BF16 once. One thread at a time.
 *
 * <p>Rows are only remembered when they are added, and read when the sum is stored: a piece of all rows at a time, small
 * enough that it and its sum stay in the second-level cache, large enough that copying it costs more than asking for it.
 */
public final class RowSum {
    private static final int PIECE = 4096;

    private final RowKernels kernels = RowKernels.best();
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

    /** For rows of {@code hidden} channels, an even number. */
    public RowSum(int hidden) {
        pairs = hidden / 2;
    }

    /** Starts a new sum at +0. */
    public void clear() {
        rows = 0;
        weighted = false;
    }

    /** Adds the BF16 row at {@code offset}, which stays as it is until the sum is stored. */
    public void add(HostMemory memory, long offset) {
        remember(memory, offset, 1f);
    }

    /**
     * Adds {@code weight * row} by fused multiply-add; the row stays as it is until the sum is stored. All rows of a sum
     * are added with weights or none.
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

    /** Rounds the sum and writes it as a BF16 row; a sum of nothing is a row of zeros. */
    public void store(HostMemory memory, long offset) {
        for (int from = 0; from < pairs; from += PIECE) {
            int count = Math.min(PIECE, pairs - from);
            sum(from, count);
            memory.putInts(offset + 4L * from, result, 0, count);
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
