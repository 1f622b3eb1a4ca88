package org.ep4j.engine.gpu;

import java.util.HashMap;
import java.util.Map;
import org.ep4j.engine.sync.DeathProof;

/**
 * Proof that a rank with a GPU is gone, kernels included. The driver takes the context of a process that has ended off the GPU while
 * the system closes the process's files; in which order it closes them and the file with the lock is not specified, so the driver is
 * given a while after the lock was freed.
 */
final class SettledProof implements DeathProof {
    /** Longer than the driver takes for a channel, by far. */
    private static final long WHILE_NANOS = 250_000_000;

    private final DeathProof proof;
    private final Map<Integer, Long> since = new HashMap<>();

    SettledProof(DeathProof proof) {
        this.proof = proof;
    }

    @Override
    public synchronized boolean isGone(int rank) {
        if (!proof.isGone(rank)) {
            return false;
        }
        long now = System.nanoTime();
        return now - since.computeIfAbsent(rank, r -> now) >= WHILE_NANOS;
    }

    @Override
    public boolean isHeld(int rank) {
        return proof.isHeld(rank);
    }
}
