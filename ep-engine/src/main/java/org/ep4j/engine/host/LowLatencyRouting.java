package org.ep4j.engine.host;

import java.util.Arrays;

/**
 * Routing of one low-latency dispatch: as sender at once, as receiver when its messages have been received. Arrays may be longer than
 * what they hold; nothing changes them while a handle refers to this and the dispatch has been received.
 */
final class LowLatencyRouting {
    /** Messages for which there is room at first. */
    private static final int FIRST = 256;

    final Routing sent;
    private final int topK;

    /** Weights of this rank's tokens, {@code [T * K]}, where the dispatch carries weights. */
    float[] weights = {};

    /** Number of messages that arrived, one for each (source rank, source token). */
    int messages;

    /** Source rank of each message, {@code [messages]}. */
    int[] sourceRanks = {};

    /** Token at the source of each message, {@code [messages]}. */
    int[] sourceTokens = {};

    /** Row in {@code [L * rows an expert]} of each selection, {@code [messages * K]}; -1 where not on this rank. */
    int[] rows = {};

    /** Weights in the messages, {@code [messages * K]}. */
    float[] messageWeights = {};

    LowLatencyRouting(int topK, int ranks) {
        sent = new Routing(topK, ranks);
        this.topK = topK;
    }

    /** Makes room for the weights of the tokens of {@link #sent}, and drops what another dispatch received. */
    void begin(boolean weighted) {
        weights = Grow.floats(weights, weighted ? sent.tokens * topK : 0);
        messages = 0;
    }

    /** Makes room for more messages behind those that have arrived. */
    void beginMessages(int more) {
        int needed = messages + more;
        if (needed > sourceRanks.length) {
            int size = Math.max(FIRST, Math.max(needed, 2 * sourceRanks.length));
            sourceRanks = Arrays.copyOf(sourceRanks, size);
            sourceTokens = Arrays.copyOf(sourceTokens, size);
            rows = Arrays.copyOf(rows, Math.multiplyExact(size, topK));
            messageWeights = Arrays.copyOf(messageWeights, size * topK);
        }
    }
}
