package org.ep4j.engine.proxy;

import org.ep4j.transport.memory.WordMemory;

/** Rings for tests. */
final class Rings {
    private Rings() {}

    static CommandRing of(int commands) {
        return new CommandRing(WordMemory.allocate(CommandRing.bytes(commands)).words(), 0, commands);
    }

    /** Hears nothing: a failure is one of the test. */
    static FailureListener noFailures() {
        return (ring, peer, failure) -> {
            throw new AssertionError(failure);
        };
    }
}
