package org.ep4j.tck;

import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;

/** Capabilities that a subject declares. The kit tests that the use of others is refused. */
public enum Capability {
    /** Ranks that are threads of one JVM. */
    THREADS,
    /** Ranks that are processes of one machine. */
    PROCESSES,
    /** High-throughput dispatch and combine. */
    HIGH_THROUGHPUT,
    /** Low-latency dispatch and combine. */
    LOW_LATENCY,
    /** Rows grouped by expert. */
    BY_EXPERT(HIGH_THROUGHPUT),
    /** FP8 rows with scales, carried by high throughput. */
    FP8_ROWS(HIGH_THROUGHPUT),
    /** Dispatch along the routes of an earlier one, without a new exchange of counts. */
    CACHED_ROUTING(HIGH_THROUGHPUT),
    /** Results of worst-case size, without waiting for counts. */
    WORST_CASE(HIGH_THROUGHPUT),
    /** One or two biases in a combine. */
    BIAS(HIGH_THROUGHPUT),
    /** FP8 formats of low latency, with plain and power-of-two scales. */
    FP8_WIRE(LOW_LATENCY),
    /** LogFMT-10 rows in a low-latency combine. */
    LOGFMT(LOW_LATENCY),
    /** Send now, receive later. */
    HOOK(LOW_LATENCY),
    /** Cumulative and waiting statistics. */
    STATISTICS(LOW_LATENCY),
    /** Partial sums on the experts' ranks. */
    RANK_PARTIAL,
    /** Combines that read the buffer's own memory. */
    ZERO_COPY,
    /** Results in tensors of the caller. */
    PREALLOCATED,
    /** Asynchronous operations and event dependencies. */
    ASYNC,
    /** Any map of experts to ranks. */
    PLACEMENT,
    /** Masks of ranks. */
    MASK,
    /** Recovery after a rank died. */
    RECOVER(MASK),
    /** Native streams of a GPU, on which operations are queued and recorded in graphs. The host device has none. */
    STREAMS(ASYNC, WORST_CASE, LOW_LATENCY);

    @SuppressWarnings("ImmutableEnumChecker") // an immutable Set.of
    private final Set<Capability> implied;

    Capability(Capability... implied) {
        this.implied = Set.of(implied);
    }

    /** Returns the given capabilities and all that they imply. */
    public static Set<Capability> closure(Collection<Capability> declared) {
        Set<Capability> all = EnumSet.noneOf(Capability.class);
        for (Capability capability : declared) {
            all.add(capability);
            all.addAll(closure(capability.implied));
        }
        return all;
    }
}
