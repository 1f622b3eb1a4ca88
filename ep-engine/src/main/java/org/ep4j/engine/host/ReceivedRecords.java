package org.ep4j.engine.host;

import java.util.Arrays;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.memory.HostMemory;

/**
 * Records of the rows that a dispatch received, read into the heap: source token, K local expert indices, K weights and S scales of
 * each row. One thread at a time; the memory is used again by the next dispatch.
 */
final class ReceivedRecords {
    /** Rows that are read or written at once: less than {@link HostMemory} takes in one piece, and little enough for a cache. */
    private static final int PIECE = 1024;

    private final BufferLayout layout;
    private final int topK;
    private int scales;
    private int stride;
    private int[] words = new int[0];
    private final int[] weights;
    private final long[] wideIds;

    ReceivedRecords(BufferLayout layout, int topK) {
        this.layout = layout;
        this.topK = topK;
        weights = new int[PIECE * topK];
        wideIds = new long[PIECE * topK];
    }

    /**
     * Forgets the records of another dispatch.
     *
     * @param rows that are received
     * @param rowScales S
     */
    void begin(int rows, int rowScales) {
        scales = rowScales;
        stride = layout.recordBytes(scales) / Integer.BYTES;
        int length = Math.multiplyExact(rows, stride);
        if (words.length < length) {
            words = new int[length];
        }
    }

    /** Reads the records of rows that have arrived. */
    void read(HostMemory symmetric, int firstRow, int rows) {
        for (int row = firstRow; row < firstRow + rows; row += PIECE) {
            int piece = Math.min(PIECE, firstRow + rows - row);
            symmetric.getInts(layout.record(row, scales), words, row * stride, piece * stride);
        }
    }

    /** Takes the experts of rows from an earlier dispatch, whose source sends nothing any more: without weights and scales. */
    void clear(HighThroughputHandle handle, int firstRow, int rows) {
        for (int row = firstRow; row < firstRow + rows; row++) {
            int at = row * stride;
            Arrays.fill(words, at, at + stride, 0);
            words[at] = handle.sourceTokens()[row];
            System.arraycopy(handle.localIds(), row * topK, words, at + 1, topK);
        }
    }

    int token(int row) {
        return words[row * stride];
    }

    /** Bits of the weight of the {@code k}-th expert of a row; 0 where that is on another rank. */
    int weight(int row, int k) {
        int at = row * stride + 1 + k;
        // Without a branch, which random experts would make the processor guess wrong half of the time.
        return words[at + topK] & ~(words[at] >> 31);
    }

    /**
     * Reads the experts of all rows.
     *
     * @param ids gets {@code [rows * K]} local indices, -1 for those on other ranks
     * @param perExpert gets the number of selections of each local expert
     */
    void readExperts(int rows, int[] ids, int[] perExpert) {
        for (int row = 0; row < rows; row++) {
            System.arraycopy(words, row * stride + 1, ids, row * topK, topK);
        }
        // Those on other ranks are counted too, before the first: a branch would be guessed wrong half of the time.
        int[] counts = new int[1 + perExpert.length];
        for (int id : ids) {
            counts[1 + id]++;
        }
        System.arraycopy(counts, 1, perExpert, 0, perExpert.length);
    }

    /** Writes expert indices as 64-bit or 32-bit words. */
    void writeExperts(HostMemory target, long offset, int[] ids, boolean wide) {
        for (int from = 0; from < ids.length; from += wideIds.length) {
            int piece = Math.min(wideIds.length, ids.length - from);
            if (!wide) {
                target.putInts(offset + 4L * from, ids, from, piece);
                continue;
            }
            for (int i = 0; i < piece; i++) {
                wideIds[i] = ids[from + i];
            }
            target.putLongs(offset + 8L * from, wideIds, 0, piece);
        }
    }

    /** Writes {@code [rows][K]} weights. */
    void writeWeights(HostMemory target, long offset, int rows) {
        for (int from = 0; from < rows; from += PIECE) {
            int piece = Math.min(PIECE, rows - from);
            for (int row = 0; row < piece; row++) {
                for (int k = 0; k < topK; k++) {
                    weights[row * topK + k] = weight(from + row, k);
                }
            }
            target.putInts(offset + 4L * from * topK, weights, 0, piece * topK);
        }
    }

    /** Writes the scales of a row. */
    void writeScales(HostMemory target, long offset, int row) {
        target.putInts(offset, words, row * stride + 1 + 2 * topK, scales);
    }
}
