package org.ep4j.engine.host;

import org.ep4j.DataType;

/**
 * Ranks to which one rank's tokens go. A {@link RoutingReader} fills it; nothing changes it while a handle refers to it. Arrays may be
 * longer than what they hold.
 */
final class Routing {
    private final int topK;

    /** Number of tokens, T. */
    int tokens;

    /** Type in which the caller passed ids. */
    DataType idType = DataType.INT32;

    /** {@code [T * K]} expert ids; -1 where there is none or its rank is masked. */
    int[] ids = {};

    /** {@code [T + 1]}: first target of each token in {@link #targets}; the last one is their number. */
    int[] firstTarget = {};

    /** Ranks that hold an expert of a token, each once, in the order of its top-k list. */
    int[] targets = {};

    /** {@code [R]}: tokens for each rank. */
    final int[] rowsTo;

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

    int targetCount() {
        return firstTarget[tokens];
    }

    /** Action for a token and its index in {@link #targets}. */
    interface Sending {
        void send(int token, int index);
    }

    /** Runs an action for each token that goes to {@code target}, in ascending order. */
    void forEachTo(int target, Sending action) {
        if (rowsTo[target] == 0) {
            return;
        }
        for (int t = 0; t < tokens; t++) {
            for (int i = firstTarget[t]; i < firstTarget[t + 1]; i++) {
                if (targets[i] == target) {
                    action.send(t, i);
                }
            }
        }
    }
}
