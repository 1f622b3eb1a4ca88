package org.ep4j.cli.fifo;

import org.ep4j.engine.proxy.CommandRing;
import org.ep4j.transport.memory.HostMemory;

/**
 * The host memory of a measurement: three words on lines of their own, then the rings.
 *
 * @param memory as Java sees it
 * @param address as this process sees it; where a GPU does, too
 * @param rings how many at most
 * @param commands of each
 */
record RingMemory(HostMemory memory, long address, int rings, int commands) {
    /** Value of the last ping that was answered. */
    static final int ANSWER = 0;

    /** Producers begin when this holds the number of the run. */
    static final int GO = 128;

    /** 1 where a producer has given up. */
    static final int GAVE_UP = 256;

    private static final int RINGS = 384;

    static long bytes(int rings, int commands) {
        return RINGS + rings * stride(commands);
    }

    private static long stride(int commands) {
        return (CommandRing.bytes(commands) + 127) / 128 * 128;
    }

    long offset(int ring) {
        return RINGS + ring * stride(commands);
    }

    CommandRing ring(int index) {
        return new CommandRing(memory, offset(index), commands);
    }

    /** All commands that were consumed from the first so many rings. */
    long consumed(int count) {
        long consumed = 0;
        for (int i = 0; i < count; i++) {
            consumed += memory.getLongAcquire(offset(i) + CommandRing.TAIL);
        }
        return consumed;
    }

    /** Empties everything but what runs are numbered by. */
    void clear() {
        memory.zero(RINGS, rings * stride(commands));
        memory.putLongRelease(GAVE_UP, 0);
    }
}
