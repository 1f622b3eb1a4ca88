package org.ep4j.engine.proxy;

/** The words of a {@link Command}, as {@code fifo.cu} puts them together. */
final class Commands {
    private Commands() {}

    /** Word 0 of a write; both in bytes. */
    static long writeWord0(long target, long bytes) {
        return target >> Command.UNIT_SHIFT << Command.TARGET_SHIFT | bytes >> Command.UNIT_SHIFT;
    }

    /** Word 1 of a write, without the phase; the source in bytes. */
    static long writeWord1(int peer, long source) {
        return Command.WRITE_FORM | (long) peer << Command.PEER_SHIFT | source >> Command.UNIT_SHIFT;
    }

    /** Word 1 of an advance, without the phase; word 0 is the value of the counter. */
    static long advanceWord1(int peer, int counter) {
        return Command.ADVANCE_FORM | (long) peer << Command.PEER_SHIFT | counter;
    }
}
