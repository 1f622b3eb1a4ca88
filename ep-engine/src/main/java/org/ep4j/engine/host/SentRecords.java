package org.ep4j.engine.host;

import java.util.Arrays;
import java.util.Optional;
import org.ep4j.ExpertPlacement;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.transport.memory.HostMemory;

/**
 * Builds the records of the rows that a dispatch stores in the memory of its peers, and writes several at a time. A record has the
 * token, its K local expert indices at the receiver (-1 for those on other ranks), its K weights and its S scales. One thread at a
 * time; the next dispatch reuses it.
 */
final class SentRecords {
    /** Records that are written at once, and tokens whose weights and scales are read at once: a few KB. */
    private static final int PIECE = 32;

    private final BufferLayout layout;
    private final ExpertPlacement placement;
    private final int topK;
    private final int[][] words;
    private final int[] firstRow;
    private final int[] count;

    /** By selection of the current token: its rank, -1 for none, and its index on that rank. */
    private final int[] owners;

    private final int[] locals;
    private final int[] tokenWeights;
    private int[] tokenScales = {};
    private int[] ids = {};
    private Optional<HostMemory> weights = Optional.empty();
    private Optional<HostMemory> scales = Optional.empty();
    private int scaleCount;
    private int stride;
    private int tokens;
    private int token;
    private int firstRead;
    private int endRead;

    SentRecords(BufferLayout layout, ExpertPlacement placement, int topK) {
        this.layout = layout;
        this.placement = placement;
        this.topK = topK;
        words = new int[placement.ranks()][];
        Arrays.fill(words, new int[0]);
        firstRow = new int[placement.ranks()];
        count = new int[placement.ranks()];
        owners = new int[topK];
        locals = new int[topK];
        tokenWeights = new int[PIECE * topK];
    }

    /** Begins a dispatch of {@code [T * K]} ids, {@code [T, K]} weights (or zeros), {@code [T, S]} scales (or none). */
    void begin(
            int newTokens,
            int[] newIds,
            Optional<HostMemory> newWeights,
            Optional<HostMemory> newScales,
            int newScaleCount) {
        tokens = newTokens;
        ids = newIds;
        weights = newWeights;
        scales = newScales;
        scaleCount = newScaleCount;
        stride = layout.recordBytes(scaleCount) / Integer.BYTES;
        tokenScales = Grow.ints(tokenScales, PIECE * scaleCount);
        endRead = 0;
        Arrays.fill(tokenWeights, 0);
        Arrays.fill(count, 0);
    }

    /** Selects the token of the next records; tokens come in ascending order. */
    void token(int next) {
        token = next;
        if (token >= endRead) {
            read();
        }
        for (int k = 0; k < topK; k++) {
            int id = ids[token * topK + k];
            owners[k] = id < 0 ? -1 : placement.rankOf(id);
            locals[k] = id < 0 ? -1 : placement.localIndex(id);
        }
    }

    private void read() {
        firstRead = token;
        endRead = Math.min(tokens, token + PIECE);
        int piece = endRead - token;
        if (weights.isPresent()) {
            weights.get().getInts(4L * token * topK, tokenWeights, 0, piece * topK);
        }
        if (scales.isPresent()) {
            scales.get().getInts(4L * token * scaleCount, tokenScales, 0, piece * scaleCount);
        }
    }

    /** Adds the record of the token's row on a rank; rows of one rank come in ascending order, without gaps. */
    void add(int rank, HostMemory memory, int row) {
        if (words[rank].length < PIECE * stride) {
            words[rank] = new int[PIECE * stride];
        }
        if (count[rank] == 0) {
            firstRow[rank] = row;
        }
        int[] to = words[rank];
        int at = count[rank] * stride;
        int from = token - firstRead;
        to[at] = token;
        for (int k = 0; k < topK; k++) {
            to[at + 1 + k] = owners[k] == rank ? locals[k] : -1;
            to[at + 1 + topK + k] = tokenWeights[from * topK + k];
        }
        System.arraycopy(tokenScales, from * scaleCount, to, at + 1 + 2 * topK, scaleCount);
        if (++count[rank] == PIECE) {
            write(rank, memory);
        }
    }

    /** Writes what was added for a rank. */
    void write(int rank, HostMemory memory) {
        memory.putInts(layout.record(firstRow[rank], scaleCount), words[rank], 0, count[rank] * stride);
        count[rank] = 0;
    }
}
