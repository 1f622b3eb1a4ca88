package org.ep4j.cli.soak;

import java.util.List;
import java.util.Optional;
import java.util.Set;

/** What a rank tells the process that started it. */
sealed interface Answer {
    /** The process is there. */
    record Started() implements Answer {}

    /**
     * The group has a buffer.
     *
     * @param backends that the plan uses
     */
    record Ready(List<String> backends) implements Answer {
        /** Copies the list. */
        public Ready {
            backends = List.copyOf(backends);
        }
    }

    /**
     * There is no buffer.
     *
     * @param type of the exception
     * @param message of it
     */
    record Refused(String type, String message) implements Answer {}

    /**
     * A run has ended well.
     *
     * @param id of the run
     * @param exchanges that were made
     * @param elements that were compared
     */
    record Ran(int id, int exchanges, long elements) implements Answer {}

    /**
     * An operation has told that a rank is lost or late; the rank recovers now.
     *
     * @param id of the run
     * @param operation that failed
     * @param type of the exception
     * @param message of it
     */
    record Broken(int id, String operation, String type, String message) implements Answer {}

    /**
     * The buffer has recovered.
     *
     * @param id of the run
     * @param masked ranks that are left out
     * @param millis that it took, from the exception on
     */
    record Recovered(int id, Set<Integer> masked, long millis) implements Answer {
        /** Copies the set. */
        public Recovered {
            masked = Set.copyOf(masked);
        }
    }

    /**
     * This rank was told that it is out: an {@link org.ep4j.EpPeerLostException} that names it.
     *
     * @param id of the run
     * @param message of the exception
     */
    record Out(int id, String message) implements Answer {}

    /**
     * The buffer could not recover.
     *
     * @param id of the run
     * @param type of the last exception
     * @param message of it
     */
    record GaveUp(int id, String type, String message) implements Answer {}

    /**
     * A result that is not what it must be.
     *
     * @param id of the run
     * @param what the operation with its options
     * @param message the first difference
     */
    record Wrong(int id, String what, String message) implements Answer {}

    /**
     * An exception that no operation may throw.
     *
     * @param id of the run; 0 outside of one
     * @param what was done
     * @param stack of it
     */
    record Failed(int id, String what, String stack) implements Answer {}

    /**
     * Everything is closed.
     *
     * @param leaks what is there in excess of what was there after the first rounds
     * @param counted what is there now
     */
    record Closed(List<String> leaks, Optional<Resources.Count> counted) implements Answer {
        /** Copies the list. */
        public Closed {
            leaks = List.copyOf(leaks);
        }
    }

    /**
     * What every thread does.
     *
     * @param text of it
     */
    record Stacks(String text) implements Answer {}

    /** As a line. */
    default String encode() {
        return Lines.encode(this);
    }

    /** Reads a line; empty for what a rank prints besides. */
    static Optional<Answer> decode(String line) {
        return Lines.decode(
                line,
                Answer.class,
                List.of(
                        Started.class,
                        Ready.class,
                        Refused.class,
                        Ran.class,
                        Broken.class,
                        Recovered.class,
                        Out.class,
                        GaveUp.class,
                        Wrong.class,
                        Failed.class,
                        Closed.class,
                        Stacks.class));
    }
}
