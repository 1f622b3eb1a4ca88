package org.ep4j.engine.sync;

import java.util.Set;

/** Makes the symmetric memory in which a buffer goes on without ranks that may still reach the one before. */
public interface FreshMemory {
    /**
     * Makes symmetric memory among the survivors. Collective over all ranks but {@code lost}; when it fails, nothing of it stays.
     *
     * @param epoch of the membership; the same on all survivors, and new
     * @throws org.ep4j.EpPeerLostException when a survivor is lost meanwhile
     * @throws org.ep4j.EpResourceException when a machine has too little memory
     */
    SymmetricMemory make(long epoch, Set<Integer> lost, Deadline deadline);

    /** Frees what was made before the newest memory. */
    void freeOlder();

    /** Frees the newest memory, so that the one before is the newest again. */
    void freeNewest();
}
