package org.ep4j.engine.layout;

/** 64-bit counters that every rank has for every source rank; the source rank alone advances them. */
public enum Counter {
    /** High throughput: the source has begun operation number n and announced it. */
    HT_ENTER,
    /** High throughput: all rows of the source for operation n have arrived. */
    HT_DATA,
    /** High throughput: the source has read all it needs from this rank's memory for operation n. */
    HT_DONE,
    /** Low latency: all messages of the source for dispatch n have arrived. */
    LL_DISPATCH,
    /** Low latency: the source has emptied its messages of dispatch n. */
    LL_DISPATCH_CREDIT,
    /** Low latency: all rows of the source for combine n have arrived. */
    LL_COMBINE,
    /** Low latency: the source has emptied its rows of combine n. */
    LL_COMBINE_CREDIT,
    /**
     * High throughput, between GPUs that host threads post for: progress of the source in the rounds in which rows of selections
     * are returned. Only in a window, see {@link WindowLayout#counterBytes}.
     */
    HT_ROUND
}
