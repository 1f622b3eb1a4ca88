package org.ep4j.engine.rows;

import org.ep4j.engine.memory.HostMemory;

/**
 * Copies between ranges of host memory that do not overlap, many in one call of native code. What was added is copied at the latest
 * when {@link #finish} returns, and is seen by whoever sees what this thread stores afterwards. One thread at a time.
 */
public final class RowCopies {
    private static final int WORDS = 3;

    private final Rows rows;
    private final RowList list = new RowList();
    private boolean stream;

    /** Copies as {@code rows} do. */
    public RowCopies(Rows rows) {
        this.rows = rows;
    }

    /**
     * Begins; forgets what was added before and not finished.
     *
     * @param bytes of all copies together, by which they are stored into the caches or around them
     */
    public void begin(long bytes) {
        list.clear();
        stream = rows.streams(bytes);
    }

    /**
     * Adds a copy; the source stays as it is, and both ranges stay mapped, until {@link #finish}.
     *
     * @throws IndexOutOfBoundsException when a range is not inside its memory
     */
    public void add(HostMemory target, long offset, HostMemory source, long sourceOffset, long bytes) {
        if (!rows.isNative()) {
            target.copy(offset, source, sourceOffset, bytes);
            return;
        }
        long to = target.address(offset, bytes);
        long from = source.address(sourceOffset, bytes);
        if (!list.fits(WORDS)) {
            finish();
        }
        list.entry().add(to).add(from).add(bytes);
    }

    /** Copies what was added. */
    public void finish() {
        if (list.entries() > 0) {
            rows.copy(list, stream);
            list.clear();
        }
    }
}
