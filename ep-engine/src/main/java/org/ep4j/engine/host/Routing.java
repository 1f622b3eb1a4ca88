package org.ep4j.engine.host;

import org.ep4j.DataType;

/**
 * Where one rank's tokens go. A {@link RoutingReader} fills it; nothing changes it while a handle refers to it. Arrays are shared
 * inside the package and may be longer than what they hold.
 */
final class Routing {
    private final int topK;
    private int tokens;
    private DataType idType = DataType.INT32;
    private int[] ids = {};
    private int[] firstTarget = {};
    private int[] targets = {};
    private final int[] rowsTo;

    Routing(int topK, int ranks) {
        this.topK = topK;
        rowsTo = new int[ranks];
    }

    void begin(int newTokens, DataType newIdType) {
        tokens = newTokens;
        idType = newIdType;
        ids = Grow.ints(ids, tokens * topK);
        firstTarget = Grow.ints(firstTarget, tokens + 1);
        // One more: the reader writes the candidate for the next place before it knows whether that counts.
        targets = Grow.ints(targets, tokens * Math.min(topK, rowsTo.length) + 1);
    }

    /** Number of tokens, T. */
    int tokens() {
        return tokens;
    }

    /** Type that the caller gave ids in. */
    DataType idType() {
        return idType;
    }

    /** {@code [T * K]} expert ids; -1 where there is none or its rank is masked. */
    int[] ids() {
        return ids;
    }

    /** {@code [T + 1]}: first target of each token in {@link #targets}; the last one is their number. */
    int[] firstTarget() {
        return firstTarget;
    }

    /** Ranks that hold an expert of a token, each once, in the order in which they appear in its top-k list. */
    int[] targets() {
        return targets;
    }

    int targetCount() {
        return firstTarget[tokens];
    }

    /** {@code [R]}: tokens for each rank. */
    int[] rowsTo() {
        return rowsTo;
    }

    /** What is done for a token and its index in {@link #targets}. */
    interface Sending {
        void send(int token, int index);
    }

    /** For each token that goes to {@code target}, in their order. */
    void forEachTo(int target, Sending work) {
        if (rowsTo[target] == 0) {
            return;
        }
        for (int t = 0; t < tokens; t++) {
            for (int i = firstTarget[t]; i < firstTarget[t + 1]; i++) {
                if (targets[i] == target) {
                    work.send(t, i);
                }
            }
        }
    }
}
