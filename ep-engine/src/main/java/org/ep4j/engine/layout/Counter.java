package org.ep4j.engine.layout;

/** The 64-bit counters that every rank keeps for every source rank; each has one writer, the source rank. */
public enum Counter {
    /** High throughput: the source has begun operation number n; its block says which. */
    HT_ENTER,
    /** High throughput: all rows of the source for operation n are here. */
    HT_DATA,
    /** High throughput: the source has read all it needs from this rank's memory for operation n. */
    HT_DONE,
    /** Low latency: all messages of the source for dispatch n are here. */
    LL_DISPATCH,
    /** Low latency: the source has emptied its messages of dispatch n. */
    LL_DISPATCH_CREDIT,
    /** Low latency: all rows of the source for combine n are here. */
    LL_COMBINE,
    /** Low latency: the source has emptied its rows of combine n. */
    LL_COMBINE_CREDIT,
    /**
     * High throughput, between GPUs that host threads post for: how far the source is with the rounds in which rows of selections
     * come back. Kept with the other counters of remote ranks only, see {@link WindowLayout#counterBytes}.
     */
    HT_ROUND
}
