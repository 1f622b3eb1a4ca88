package org.ep4j.engine.host;

import java.util.Arrays;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.memory.HostMemory;

/**
 * Buffers the records of the rows that a dispatch stores in the memory of its peers, and writes several at a time. One thread at a time;
 * used again by the next dispatch.
 */
final class SentRecords {
    /** Records that are written at once: a few KB for each rank. */
    private static final int PIECE = 32;

    private final BufferLayout layout;
    private final int[][] words;
    private final int[] firstRow;
    private final int[] count;
    private int scales;
    private int stride;

    SentRecords(BufferLayout layout, int ranks) {
        this.layout = layout;
        words = new int[ranks][];
        Arrays.fill(words, new int[0]);
        firstRow = new int[ranks];
        count = new int[ranks];
    }

    /**
     * Begins the records of a dispatch; forgets those that were not finished.
     *
     * @param rowScales scales of a row
     */
    void begin(int rowScales) {
        scales = rowScales;
        stride = layout.recordBytes(scales) / Integer.BYTES;
        Arrays.fill(count, 0);
    }

    /** Adds the record of the next row of a rank; rows of one rank come in ascending order, without gaps. */
    void add(int rank, HostMemory memory, int row, int[] record) {
        if (words[rank].length < PIECE * stride) {
            words[rank] = new int[PIECE * stride];
        }
        if (count[rank] == 0) {
            firstRow[rank] = row;
        }
        System.arraycopy(record, 0, words[rank], count[rank] * stride, record.length);
        if (++count[rank] == PIECE) {
            write(rank, memory);
        }
    }

    /** Writes what was added for a rank. */
    void write(int rank, HostMemory memory) {
        memory.putInts(layout.record(firstRow[rank], scales), words[rank], 0, count[rank] * stride);
        count[rank] = 0;
    }
}
