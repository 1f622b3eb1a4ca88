package org.ep4j.cli.soak;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.EpKeys;

/** What a rank is asked to do. It does one after another, but for {@link Dump}. */
sealed interface Order {
    /**
     * Joins a group and creates a buffer. Answered by {@link Answer.Ready} or {@link Answer.Refused}.
     *
     * @param rank in the group
     * @param ranks of the group
     * @param port of the rendezvous on the loopback interface
     * @param settings of the group
     * @param shape of the buffer
     * @param firstOperation number before that of the first operation
     */
    record Join(int rank, int ranks, int port, Map<String, String> settings, ShapeSpec shape, long firstOperation)
            implements Order {
        /** Copies the settings. */
        public Join {
            settings = Map.copyOf(settings);
        }
    }

    /**
     * Exchanges. Answered by {@link Answer.Ran}, or by {@link Answer.Broken} and what came of the recovery.
     *
     * @param id larger than that of every run before
     * @param seed of the exchanges, the same on all ranks
     * @param exchanges dispatches, each with its combine
     * @param holdMillis longest pause between dispatch and combine
     * @param slowMillis longest pause before each exchange
     */
    record Run(int id, long seed, int exchanges, int holdMillis, int slowMillis) implements Order {}

    /**
     * Creates another buffer, after the present one was closed. Answered by {@link Answer.Ready} or
     * {@link Answer.Refused}.
     *
     * @param shape of the buffer
     * @param delayMillis before the present one is closed
     */
    record Recreate(ShapeSpec shape, int delayMillis) implements Order {}

    /**
     * Closes buffer and group. Answered by {@link Answer.Closed}.
     *
     * @param delayMillis before that
     * @param settleMillis longest time that threads and connections of the group may take to end
     */
    record Close(int delayMillis, int settleMillis) implements Order {}

    /** Tells at once what every thread does. Answered by {@link Answer.Stacks}. */
    record Dump() implements Order {}

    /** This order as logs may have it, without the secret of the group. */
    default Order shown() {
        if (this instanceof Join join && join.settings().containsKey(EpKeys.BOOTSTRAP_SECRET.name())) {
            Map<String, String> shown = new TreeMap<>(join.settings());
            shown.put(EpKeys.BOOTSTRAP_SECRET.name(), "(not shown)");
            return new Join(join.rank(), join.ranks(), join.port(), shown, join.shape(), join.firstOperation());
        }
        return this;
    }

    /** Encodes this order as a line of text. */
    default String encode() {
        return Lines.encode(this);
    }

    /** Reads a line. */
    static Order decode(String line) {
        return Lines.decode(line, Order.class, List.of(Join.class, Run.class, Recreate.class, Close.class, Dump.class))
                .orElseThrow(() -> new IllegalArgumentException("not an order: " + line));
    }
}
