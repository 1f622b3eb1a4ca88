package org.ep4j.engine.gpu;

import java.util.ArrayList;
import java.util.List;

/**
 * Runs of one buffer's recorded operations. Kernels know a recorded operation by one number, however often it runs; this
 * maps it to the numbers that its runs have among the operations of the buffer. Runs that ended without a failure are
 * forgotten. Safe for several threads.
 */
final class Replays {
    /** Numbers of recorded operations are above this one. */
    static final long RECORDED = 1L << 62;

    private final List<Replay> open = new ArrayList<>();
    private long ended;

    private record Replay(List<Long> numbers, long first) {
        long last() {
            return first + numbers.size() - 1;
        }
    }

    /**
     * Adds a run of a graph, which is queued.
     *
     * @param numbers of its operations
     * @param first number of this run of the first one
     */
    synchronized void queued(List<Long> numbers, long first) {
        open.add(new Replay(numbers, first));
    }

    /** All operations up to {@code number} are done, and their failures are taken. */
    synchronized void ended(long number) {
        if (number > ended) {
            ended = number;
            open.removeIf(replay -> replay.last() <= number);
        }
    }

    /** Runs of an operation that may have failed. */
    synchronized List<Long> all(long number) {
        if (number < RECORDED) {
            return List.of(number);
        }
        List<Long> runs = new ArrayList<>();
        for (Replay replay : open) {
            int index = replay.numbers().indexOf(number);
            if (index >= 0) {
                runs.add(replay.first() + index);
            }
        }
        return runs;
    }

    /** First run of an operation that may have failed; without any, the first operation that may have. */
    synchronized long first(long number) {
        List<Long> runs = all(number);
        return runs.isEmpty() ? ended + 1 : runs.get(0);
    }
}
