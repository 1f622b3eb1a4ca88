package org.ep4j.engine.rows;

/**
 * Sums of BF16 rows in native code, many in one call; sums begin at +0, follow the order of their rows and are rounded to BF16 once. What
 * was added is summed at the latest when {@link #finish} returns, and threads that see what this thread stores later see it
 * too. One thread at a time.
 */
public final class NativeSums {
    private final Rows rows;
    private final long rowBytes;
    private final RowList list = new RowList();
    private boolean nonTemporal;

    /**
     * Creates an empty list.
     *
     * @param rows native ones
     * @param rowBytes of every row, a multiple of 16
     */
    public NativeSums(Rows rows, long rowBytes) {
        this.rows = rows;
        this.rowBytes = rowBytes;
    }

    /**
     * Begins the sums of a step of an operation; forgets those that were not finished.
     *
     * @param count of the sums, as far as that is known; chooses between plain and non-temporal stores
     */
    public void begin(long count) {
        list.clear();
        nonTemporal = rows.isLarge(count * rowBytes);
    }

    /**
     * Adds a sum; sources stay as they are until {@link #finish}, the target may be one of them.
     *
     * @param target address of the sum
     * @param sources addresses of the rows, in their order
     * @param weights factors of the rows; counts only where {@code weighted}
     * @param count of rows
     */
    public void add(long target, long[] sources, float[] weights, boolean weighted, int count) {
        int words = 3 + (weighted ? 2 * count : count);
        if (list.isFull(words)) {
            finish();
        }
        list.entry(words).add(target).add(count).add(weighted ? 1 : 0);
        for (int row = 0; row < count; row++) {
            list.add(sources[row]);
        }
        for (int row = 0; row < count && weighted; row++) {
            list.add(Float.floatToRawIntBits(weights[row]));
        }
    }

    /** Sums what was added. */
    public void finish() {
        if (list.entries() > 0) {
            rows.sum(list, rowBytes, nonTemporal);
            list.clear();
        }
    }
}
