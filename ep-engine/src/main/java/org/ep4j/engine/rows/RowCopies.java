package org.ep4j.engine.rows;

import org.ep4j.transport.memory.HostMemory;

/**
 * Copies between ranges of host memory that do not overlap, many in one call of native code. They are done at the latest when
 * {@link #finish} returns, and are visible before later stores of this thread. One thread at a time.
 */
public final class RowCopies {
    private static final int WORDS = 3;

    private final Rows rows;
    private final RowList list = new RowList();
    private boolean nonTemporal;

    public RowCopies(Rows rows) {
        this.rows = rows;
    }

    /** Begins a step of an operation that copies about {@code bytes}, which chooses between plain and non-temporal stores. */
    public void begin(long bytes) {
        list.clear();
        nonTemporal = rows.isLarge(bytes);
    }

    /**
     * Adds a copy; the source stays as it is, and both ranges stay mapped, until {@link #finish}.
     *
     * @throws IndexOutOfBoundsException when a range is not inside its memory
     */
    public void add(HostMemory target, long offset, HostMemory source, long sourceOffset, long bytes) {
        long to = target.address(offset, bytes);
        long from = source.address(sourceOffset, bytes);
        if (!rows.isNative()) {
            target.copy(offset, source, sourceOffset, bytes);
            return;
        }
        if (list.isFull(WORDS)) {
            finish();
        }
        list.entry(WORDS).add(to).add(from).add(bytes);
    }

    public void finish() {
        if (list.entries() > 0) {
            rows.copy(list, nonTemporal);
            list.clear();
        }
    }
}
