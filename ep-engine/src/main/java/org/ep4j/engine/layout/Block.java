package org.ep4j.engine.layout;

/** The small records that go with counters, in two banks so that a fast source never overwrites one still being read. */
public enum Block {
    /** What the source does in its next high-throughput operation, and how many rows it sends to each rank. */
    HIGH_THROUGHPUT,
    /** What the source sent in a low-latency dispatch. */
    LL_DISPATCH,
    /** What the source sent in a low-latency combine. */
    LL_COMBINE
}
