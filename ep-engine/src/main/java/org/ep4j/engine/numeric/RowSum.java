package org.ep4j.engine.numeric;

import java.util.Arrays;
import org.ep4j.engine.memory.HostMemory;

/**
 * Sums BF16 rows in FP32, in the order in which they are added, and rounds the sum to BF16 once. One thread at a time.
 * Rows are held back so that two are added in one pass over the sum.
 */
public final class RowSum {
    private final RowKernels kernels = RowKernels.best();
    private final int pairs;
    private final int[] result;
    private final float[] even;
    private final float[] odd;
    private final int[][] held;
    private final float[] weights = new float[2];
    private int heldRows;
    private boolean weighted;
    private boolean empty = true;

    /** For rows of {@code hidden} channels, an even number. */
    public RowSum(int hidden) {
        pairs = hidden / 2;
        result = new int[pairs];
        even = new float[pairs];
        odd = new float[pairs];
        held = new int[2][pairs];
    }

    /** Starts a new sum at +0. */
    public void clear() {
        heldRows = 0;
        empty = true;
    }

    /** Adds the BF16 row at {@code offset}. */
    public void add(HostMemory memory, long offset) {
        hold(memory, offset, false, 0f);
    }

    /** Adds {@code weight * row} by fused multiply-add. */
    public void add(HostMemory memory, long offset, float weight) {
        hold(memory, offset, true, weight);
    }

    private void hold(HostMemory memory, long offset, boolean withWeight, float weight) {
        if (heldRows == 2 || (heldRows == 1 && weighted != withWeight)) {
            addHeld();
        }
        weighted = withWeight;
        weights[heldRows] = weight;
        memory.getInts(offset, held[heldRows++], 0, pairs);
    }

    /** Adds {@code weight * values} by fused multiply-add, one value a channel. */
    public void add(float[] values, float weight) {
        addHeld();
        for (int i = 0; i < pairs; i++) {
            even[i] = Math.fma(weight, values[2 * i], even[i]);
            odd[i] = Math.fma(weight, values[2 * i + 1], odd[i]);
        }
    }

    /** Adds {@code values}, one a channel. */
    public void add(float[] values) {
        addHeld();
        for (int i = 0; i < pairs; i++) {
            even[i] += values[2 * i];
            odd[i] += values[2 * i + 1];
        }
    }

    private void addHeld() {
        if (empty) {
            Arrays.fill(even, 0f);
            Arrays.fill(odd, 0f);
            empty = false;
        }
        if (heldRows == 2 && weighted) {
            kernels.fma(held[0], weights[0], held[1], weights[1], even, odd);
        } else if (heldRows == 2) {
            kernels.add(held[0], held[1], even, odd);
        } else if (heldRows == 1 && weighted) {
            kernels.fma(held[0], weights[0], even, odd);
        } else if (heldRows == 1) {
            kernels.add(held[0], even, odd);
        }
        heldRows = 0;
    }

    /** Rounds the sum into packed pairs, the even channel low; a sum of nothing is a row of zeros. */
    public void store(int[] row) {
        if (empty && heldRows == 2 && !weighted) {
            kernels.roundSum(held[0], held[1], row);
        } else {
            addHeld();
            kernels.round(even, odd, row);
        }
    }

    /** Rounds the sum and writes it as a BF16 row; a sum of nothing is a row of zeros. */
    public void store(HostMemory memory, long offset) {
        store(result);
        memory.putInts(offset, result, 0, pairs);
    }
}
