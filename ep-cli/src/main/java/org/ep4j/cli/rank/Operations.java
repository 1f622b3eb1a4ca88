package org.ep4j.cli.rank;

/** Names of what is measured, as they stand in the JSON. */
public final class Operations {
    public static final String HT_DISPATCH = "ht.dispatch";

    /** High-throughput combine; by rank it reads the rows in place, where the dispatch put them. */
    public static final String HT_COMBINE = "ht.combine";

    /** High-throughput combine of rows that lie outside the buffer. */
    public static final String HT_COMBINE_STAGED = "ht.combine.staged";

    /** High-throughput combine of rows by expert, of which each rank sends one sum for a token. */
    public static final String HT_COMBINE_PARTIAL = "ht.combine.partial";

    public static final String LL_DISPATCH = "ll.dispatch";

    /** First half of a low-latency dispatch with the receive hook. */
    public static final String LL_SEND = "ll.dispatch.send";

    /** Second half of it, when all ranks have sent. */
    public static final String LL_RECEIVE = "ll.dispatch.receive";

    /** Low-latency combine from {@link org.ep4j.EpBuffer#nextLowLatencyCombineInput()}. */
    public static final String LL_COMBINE = "ll.combine";

    /** Low-latency dispatch and combine, one after the other. */
    public static final String LL_BOTH = "ll.dispatch+combine";

    /** High-throughput dispatch of the low-latency tokens: by expert, exact counts. */
    public static final String LL_BY_HT = "ll.tokens-by-ht.dispatch";

    /** Stands in the name of a measurement of an operation's ceiling, between the operation and the way in which rows were stored. */
    public static final String CEILING = "/ceiling: ";

    private Operations() {}
}
