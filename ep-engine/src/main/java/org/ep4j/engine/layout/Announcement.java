package org.ep4j.engine.layout;

/** Kinds of announcements, by which a source describes an operation; written before its counter. Two banks, since a source may be one operation ahead. */
public enum Announcement {
    /** The source's next high-throughput operation, and how many rows it sends to each rank. */
    HIGH_THROUGHPUT,
    /** Operation and number of messages of a low-latency dispatch. */
    LL_DISPATCH,
    /** Operation of a low-latency combine, with the dispatch that it belongs to. */
    LL_COMBINE
}
