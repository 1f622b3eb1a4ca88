package org.ep4j.engine.sync;

/**
 * Proof that a rank can no longer touch memory that it maps. Silence proves nothing: a process that is stopped, swapped out or
 * migrated comes back and goes on with the store that it was in.
 */
@FunctionalInterface
public interface DeathProof {
    /** Proves nothing. */
    DeathProof NONE = rank -> false;

    /**
     * True when the process of {@code rank} has ended, or it has left the group after its last access to memory of others. False
     * where that is unknown. Never goes back to false; does not block.
     */
    boolean isGone(int rank);

    /**
     * True when {@code rank} is known to be able to touch memory of others, also where it says that it has left: kernels of a
     * buffer that it closed may still run. Does not block.
     */
    default boolean isHeld(int rank) {
        return false;
    }
}
