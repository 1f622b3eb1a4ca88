package org.ep4j.engine.proxy;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.ObjIntConsumer;
import org.ep4j.engine.proxy.CommandRing.CommandSink;
import org.ep4j.transport.memory.WordMemory;

/** Rings of two commands for stress tests, which want thousands of them at once and always new ones. */
final class StressRings {
    /** More than are alive at once. */
    private static final int COUNT = 1 << 16;

    private static final int COMMANDS = 2;
    private static final int BYTES = Math.toIntExact(CommandRing.bytes(COMMANDS));
    private static final WordMemory MEMORY = WordMemory.allocate((long) COUNT * BYTES);
    private static final AtomicInteger NEXT = new AtomicInteger();

    private StressRings() {}

    /** Where the memory of another ring begins, zeroed. */
    static long next() {
        long offset = (long) (NEXT.getAndIncrement() & (COUNT - 1)) * BYTES;
        for (int i = 0; i < BYTES; i += 8) {
            MEMORY.words().putLong(offset + i, 0);
        }
        return offset;
    }

    static CommandRing ring(long offset) {
        return new CommandRing(MEMORY.words(), offset, COMMANDS);
    }

    static WordMemory memory() {
        return MEMORY;
    }

    /** Adds up the values of advances. */
    static final class Sum implements CommandSink, ObjIntConsumer<Throwable> {
        /** No command was taken, or one that is none. */
        int value = -1;

        @Override
        public void write(int ring, int peer, long target, long source, long bytes) {
            value = -2;
        }

        @Override
        public void advance(int ring, int peer, int counter, long added) {
            value = Math.max(value, 0) + (int) added;
        }

        @Override
        public void accept(Throwable failure, int peer) {
            value = -3;
        }
    }
}
