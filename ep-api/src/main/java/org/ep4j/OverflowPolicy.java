package org.ep4j;

/** What a high-throughput dispatch does with rows for a rank that holds fewer: {@link EpShape#maxReceivedTokens}. */
public enum OverflowPolicy {
    /** Every rank reports {@link EpOverflowException}, before any row moves. */
    FAIL,
    /**
     * The rows that fit arrive, in their fixed order (source rank, then source token); those behind are dropped, the same on
     * every backend and every run. Combines, and dispatches with the handle, treat a dropped row as if its token had not
     * selected an expert of that rank; {@link DispatchResult#droppedRows} counts them where they would have arrived.
     */
    DROP
}
