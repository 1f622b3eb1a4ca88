package org.ep4j.engine.proxy;

import java.util.function.ObjIntConsumer;
import org.ep4j.transport.memory.WordMemory;

/** Rings for tests. */
final class Rings {
    private Rings() {}

    static CommandRing of(int commands) {
        return new CommandRing(WordMemory.allocate(CommandRing.bytes(commands)).words(), 0, commands);
    }

    /** Accepts no failure: one is a failure of the test. */
    static ObjIntConsumer<Throwable> noFailures() {
        return (failure, peer) -> {
            throw new AssertionError(failure);
        };
    }
}
