package org.ep4j.examples.llm;

import java.util.EnumMap;
import java.util.Map;
import java.util.function.LongSupplier;

/** Time by kind of work. */
final class Spent {
    /** What a rank does in a step. */
    enum Work {
        ATTENTION,
        ROUTER,
        DISPATCH,
        EXPERTS,
        COMBINE,
        HEAD
    }

    private final LongSupplier clock;
    private final Map<Work, Long> nanos = new EnumMap<>(Work.class);
    private long last;
    private boolean detailed = true;

    /** @param clock nanoseconds that only grow */
    Spent(LongSupplier clock) {
        this.clock = clock;
        this.last = clock.getAsLong();
    }

    /**
     * Begins to count.
     *
     * @param each whether to wait for each kind of work to end, where it is only queued otherwise
     */
    void begin(boolean each) {
        detailed = each;
        last = clock.getAsLong();
    }

    boolean isDetailed() {
        return detailed;
    }

    /** Counts the time since the last call as this work. */
    void on(Work work) {
        long now = clock.getAsLong();
        nanos.merge(work, now - last, Long::sum);
        last = now;
    }

    long nanos(Work work) {
        return nanos.getOrDefault(work, 0L);
    }
}
