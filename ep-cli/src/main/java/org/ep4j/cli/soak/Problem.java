package org.ep4j.cli.soak;

/**
 * Something that must not happen.
 *
 * @param kind of it
 * @param round in which it happened
 * @param fault of the round
 * @param text what happened, for people
 */
public record Problem(Kind kind, int round, Fault fault, String text) {
    /** Kinds, each with its name in reports. */
    public enum Kind {
        /** A step did not end. */
        HANG("hang"),
        /** A result is not what it must be. */
        WRONG_ROWS("wrong rows"),
        /** Descriptors, threads, mappings or files that stay after everything was closed. */
        LEAK("leak"),
        /** Ranks that left each other out both went on. */
        SPLIT("split"),
        /** A rank that the others left out was not told so in time. */
        NOT_TOLD("not told"),
        /** Survivors could not go on. */
        NOT_RECOVERED("not recovered"),
        /** A rank was taken for lost that no fault had hit beyond the timeouts. */
        FALSE_LOSS("false loss"),
        /** Survivors agreed on different ranks, or on others than those that were hit. */
        DISAGREED("disagreed"),
        /** An exception that the fault does not explain. */
        UNEXPECTED("unexpected exception"),
        /** A process ended by itself. */
        CRASH("crash");

        private final String words;

        Kind(String words) {
            this.words = words;
        }

        /** For people. */
        public String words() {
            return words;
        }
    }

    @Override
    public String toString() {
        return kind.words() + " in round " + round + " (" + fault.word() + "): " + text;
    }
}
