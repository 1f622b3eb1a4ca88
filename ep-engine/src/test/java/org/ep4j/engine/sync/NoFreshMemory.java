package org.ep4j.engine.sync;

import java.util.Set;

/** Fails where ranks must not move. */
enum NoFreshMemory implements FreshMemory {
    INSTANCE;

    @Override
    public SymmetricMemory make(long epoch, Set<Integer> lost, Deadline deadline) {
        throw new AssertionError("moves without " + lost);
    }

    @Override
    public void freeOlder() {
        throw new AssertionError("frees older memory");
    }

    @Override
    public void freeNewest() {
        throw new AssertionError("frees newer memory");
    }
}
