package org.ep4j.backend.efa;

import java.util.Optional;

/**
 * What has come from one source: counts the writes of each batch as their immediates come, in any order, and does what the
 * records of the batches say, in the order of the batches, each once all its writes have come. For one thread at a time.
 *
 * <p>The source begins no batch before the one that had its place is done with here, so places cannot be mistaken.
 */
final class Arrivals {
    private final Records records;
    private final Sink sink;
    private final int[] writes = new int[Records.COUNT];
    private final boolean[] announced = new boolean[Records.COUNT];
    private long next;
    private Optional<String> problem = Optional.empty();

    /** What batches do. */
    interface Sink {
        /** A counter of a buffer, by its number here, advances. */
        void advance(int buffer, int counter, long value);

        /** The source has closed a buffer, by its number here. */
        void closed(int buffer);
    }

    Arrivals(Records records, Sink sink) {
        this.records = records;
        this.sink = sink;
    }

    /** A write of a batch is in memory. */
    void data(int place) {
        if (place < Records.COUNT) {
            writes[place]++;
        } else {
            problem = Optional.of("a write names batch slot " + place + ", which must be below " + Records.COUNT);
        }
    }

    /** The record of a batch is in memory. */
    void record(int place) {
        if (place < Records.COUNT && !announced[place]) {
            announced[place] = true;
        } else {
            problem = Optional.of("a record arrived for batch slot " + place + ", which must be below " + Records.COUNT
                    + " and have no record yet");
        }
    }

    /** Does what can be done now. Returns true when that was anything. */
    boolean settle() {
        boolean moved = false;
        int place = Records.place(next);
        while (announced[place] && problem.isEmpty() && writes[place] >= records.writes(place)) {
            if (records.batch(place) != next || writes[place] != records.writes(place)) {
                problem = Optional.of(
                        "the next batch is " + next + ", but the record is for batch " + records.batch(place) + " with "
                                + records.writes(place) + " writes, and " + writes[place] + " writes arrived");
                return moved;
            }
            if (records.kind(place) == Records.CLOSE) {
                sink.closed(records.buffer(place));
            } else {
                sink.advance(records.buffer(place), records.counter(place), records.value(place));
            }
            writes[place] = 0;
            announced[place] = false;
            next++;
            place = Records.place(next);
            moved = true;
        }
        return moved;
    }

    /** Batches that are done with. */
    long done() {
        return next;
    }

    /** What the source did wrong: nothing that comes from it can be trusted any more. */
    Optional<String> problem() {
        return problem;
    }
}
