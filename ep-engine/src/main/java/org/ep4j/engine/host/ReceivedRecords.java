package org.ep4j.engine.host;

import java.util.Arrays;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.transport.memory.HostMemory;

/**
 * Records of the rows that a dispatch received, read into the heap: source token, K local expert indices, K weights and S scales of
 * each row. One thread at a time; the memory is used again by the next dispatch.
 */
final class ReceivedRecords {
    /** Rows that are read or written at once: less than {@link HostMemory} takes in one piece, and little enough for a core's caches. */
    private static final int PIECE = 128;

    private final BufferLayout layout;
    private final int topK;
    private int scales;
    private int stride;
    private int[] words = new int[0];
    private int expandedRows;
    private int[] expandedRanks = {};
    private int[] expandedTokens = {};
    private int[] expandedWeights = {};
    private final int[] weights;
    private final long[] wideIds;

    /** Selections of each local expert; then of experts of other ranks, by k. */
    private final int[] counts;

    ReceivedRecords(BufferLayout layout, int topK, int localExperts) {
        this.layout = layout;
        this.topK = topK;
        counts = new int[localExperts + topK];
        weights = new int[PIECE * topK];
        wideIds = new long[PIECE * topK];
    }

    /** Begins a dispatch that receives so many rows with S = {@code rowScales}. */
    void begin(int rows, int rowScales) {
        scales = rowScales;
        stride = layout.recordBytes(scales) / Integer.BYTES;
        words = Grow.ints(words, Math.multiplyExact(rows, stride));
        Arrays.fill(counts, 0);
    }

    /** Reads the records of rows that have arrived. */
    void read(HostMemory symmetric, int firstRow, int rows) {
        for (int row = firstRow; row < firstRow + rows; row += PIECE) {
            int piece = Math.min(PIECE, firstRow + rows - row);
            symmetric.getInts(layout.record(row, scales), words, row * stride, piece * stride);
        }
    }

    /** Reads the records of rows that have arrived from a rank, and fills the receiver's side of a routing. */
    void read(HostMemory symmetric, int source, int firstRow, int rows, HighThroughputRouting routing) {
        Arrays.fill(routing.sourceRanks, firstRow, firstRow + rows, source);
        for (int row = firstRow; row < firstRow + rows; row += PIECE) {
            int piece = Math.min(PIECE, firstRow + rows - row);
            read(symmetric, row, piece);
            unpack(row, piece, routing.sourceTokens, routing.localIds);
        }
    }

    private void unpack(int firstRow, int rows, int[] tokens, int[] ids) {
        int locals = counts.length - topK;
        for (int row = firstRow; row < firstRow + rows; row++) {
            int at = row * stride;
            tokens[row] = words[at];
            for (int k = 0; k < topK; k++) {
                int id = words[at + 1 + k];
                ids[row * topK + k] = id;
                // Without a branch, which would be mispredicted half of the time. Experts of other ranks are counted in
                // K
                // words, since additions to one word wait for each other.
                int other = id >> 31;
                counts[(id & ~other) + (locals + k & other)]++;
            }
        }
    }

    /** Fills records from an earlier dispatch, without weights and scales, for rows whose source does not send any more. */
    void clear(HighThroughputRouting routing, int firstRow, int rows) {
        for (int row = firstRow; row < firstRow + rows; row++) {
            int at = row * stride;
            Arrays.fill(words, at, at + stride, 0);
            words[at] = routing.sourceTokens[row];
            System.arraycopy(routing.localIds, row * topK, words, at + 1, topK);
        }
    }

    /** Bits of the weight of the {@code k}-th expert of a row; 0 where that is on another rank. */
    int weight(int row, int k) {
        int at = row * stride + 1 + k;
        // Without a branch, which would be mispredicted half of the time.
        return words[at + topK] & ~(words[at] >> 31);
    }

    /** Reads the number of selections of each local expert, of all rows for which a routing was filled. */
    void countExperts(int[] perExpert) {
        System.arraycopy(counts, 0, perExpert, 0, perExpert.length);
    }

    /** Writes expert indices as 64-bit or 32-bit words. */
    void writeExperts(HostMemory target, long offset, int[] ids, int count, boolean wide) {
        for (int from = 0; from < count; from += wideIds.length) {
            int piece = Math.min(wideIds.length, count - from);
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

    /** Prepares the records of the by-expert layout; rows that {@link #expand} does not fill are padding. */
    void beginExpanded(int rows) {
        expandedRows = rows;
        expandedRanks = Grow.ints(expandedRanks, rows);
        expandedTokens = Grow.ints(expandedTokens, rows);
        expandedWeights = Grow.ints(expandedWeights, rows);
        Arrays.fill(expandedRanks, 0, rows, -1);
        Arrays.fill(expandedTokens, 0, rows, -1);
        Arrays.fill(expandedWeights, 0, rows, 0);
    }

    /** Makes row {@code to} of the by-expert layout the {@code k}-th selection of a row. */
    void expand(int row, int k, int to, HighThroughputRouting routing) {
        expandedRanks[to] = routing.sourceRanks[row];
        expandedTokens[to] = routing.sourceTokens[row];
        expandedWeights[to] = weight(row, k);
    }

    /** Writes source ranks in the by-expert layout. */
    void writeExpandedRanks(HostMemory target, long offset) {
        target.putInts(offset, expandedRanks, 0, expandedRows);
    }

    /** Writes source tokens in the by-expert layout. */
    void writeExpandedTokens(HostMemory target, long offset) {
        target.putInts(offset, expandedTokens, 0, expandedRows);
    }

    /** Writes weights in the by-expert layout. */
    void writeExpandedWeights(HostMemory target, long offset) {
        target.putInts(offset, expandedWeights, 0, expandedRows);
    }

    void writeScales(HostMemory target, long offset, int row) {
        target.putInts(offset, words, row * stride + 1 + 2 * topK, scales);
    }
}
